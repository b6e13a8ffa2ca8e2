//! The lines of a text file, of any size, in bounded memory.

use std::io::{self, BufRead, Read};

use thiserror::Error;

/// Reads lines of a bounded length. What is wrong with one line leaves the others readable.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    reader: R,
    longest: usize,
    number: u64,
    offset: u64,
}

#[derive(Debug)]
pub(crate) struct Line {
    /// From 1.
    pub(crate) number: u64,
    /// The byte at which it starts.
    pub(crate) starts_at: u64,
    /// Without its ending, and without the file's byte order mark.
    pub(crate) text: Result<String, BadLine>,
}

#[derive(Debug, Error)]
pub(crate) enum BadLine {
    #[error("longer than {0} bytes")]
    TooLong(usize),
    #[error("not UTF-8 from its byte {0} on")]
    NotUtf8(usize),
}

impl<R: BufRead> Lines<R> {
    pub(crate) const fn new(reader: R, longest: usize) -> Self {
        Self { reader, longest, number: 0, offset: 0 }
    }

    /// Reads up to the end of the line, and no more than one byte beyond what is allowed.
    fn read_bytes(&mut self) -> io::Result<Option<Result<Vec<u8>, BadLine>>> {
        let mut bytes = Vec::new();
        // Two for a CRLF, one more that tells a line that is too long.
        let most = self.longest as u64 + 3;
        let read = (&mut self.reader).take(most).read_until(b'\n', &mut bytes)?;
        self.offset += read as u64;
        if read == 0 {
            return Ok(None);
        }
        let ended = bytes.last() == Some(&b'\n');
        if ended {
            bytes.pop();
        }
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
        if bytes.len() <= self.longest {
            return Ok(Some(Ok(bytes)));
        }
        if !ended {
            self.offset += self.reader.skip_until(b'\n')? as u64;
        }
        Ok(Some(Err(BadLine::TooLong(self.longest))))
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = io::Result<Line>;

    fn next(&mut self) -> Option<Self::Item> {
        let starts_at = self.offset;
        let bytes = match self.read_bytes() {
            Ok(bytes) => bytes?,
            Err(error) => return Some(Err(error)),
        };
        self.number += 1;
        let text = bytes.and_then(text_of).map(|text| match text.strip_prefix('\u{feff}') {
            Some(rest) if self.number == 1 => rest.to_owned(),
            _ => text,
        });
        Some(Ok(Line { number: self.number, starts_at, text }))
    }
}

fn text_of(bytes: Vec<u8>) -> Result<String, BadLine> {
    String::from_utf8(bytes).map_err(|error| BadLine::NotUtf8(error.utf8_error().valid_up_to() + 1))
}
