//! Where one request or reply ends and the next begins: as much of RESP2 and RESP3 as that takes.

use std::fmt;

/// What is neither a request nor a reply.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed(String);

/// `None`: more bytes are needed.
type Framed<T> = Result<Option<T>, Malformed>;

/// A whole request at the beginning of some bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// Its bytes.
    pub(super) len: usize,
    /// Its name first.
    pub(super) texts: Vec<Vec<u8>>,
}

/// A whole reply at the beginning of some bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reply {
    /// Its bytes.
    pub(super) len: usize,
    pub(super) kind: Kind,
}

/// Whom a reply is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The oldest command without one.
    Answer,
    /// The same; it is an error.
    Refusal,
    /// One of the channels of the oldest command without a reply, which (un)subscribes.
    Subscription,
    /// No command: it comes unasked. In RESP2 it looks like any list, so it is one only where
    /// something was subscribed to.
    Message,
    /// No command, in RESP3, which says so.
    Push,
}

/// The request that `bytes` begin with: a list of texts, as every client library writes it.
pub(super) fn request(bytes: &[u8]) -> Framed<Request> {
    let mut rest = Rest { bytes, at: 0 };
    let Some((kind, line)) = rest.line()? else { return Ok(None) };
    if kind != b'*' {
        return malformed("a request that is no list", line);
    }
    let mut texts = Vec::new();
    for _ in 0..number(line)? {
        let Some((kind, line)) = rest.line()? else { return Ok(None) };
        if kind != b'$' {
            return malformed("a request with something else than texts", line);
        }
        let Some(text) = rest.text(line)? else { return Ok(None) };
        texts.push(text.to_vec());
    }
    if texts.is_empty() {
        return malformed("a request without a name", line);
    }
    Ok(Some(Request { len: rest.at, texts }))
}

/// The reply that `bytes` begin with.
pub(super) fn reply(bytes: &[u8]) -> Framed<Reply> {
    let mut rest = Rest { bytes, at: 0 };
    // Attributes stand before the reply that they belong to.
    while bytes.get(rest.at) == Some(&b'|') {
        let Some((_, line)) = rest.line()? else { return Ok(None) };
        if rest.values(2 * number(line)?)?.is_none() {
            return Ok(None);
        }
    }
    let kind = kind(&bytes[rest.at..])?;
    let end = rest.values(1)?;
    Ok(kind.zip(end).map(|(kind, ())| Reply { len: rest.at, kind }))
}

/// The kind of the reply, by its first byte and, of a list, its first text.
fn kind(bytes: &[u8]) -> Framed<Kind> {
    let mut rest = Rest { bytes, at: 0 };
    let Some((kind, line)) = rest.line()? else { return Ok(None) };
    let first = match kind {
        b'-' | b'!' => return Ok(Some(Kind::Refusal)),
        b'*' | b'>' if line != b"-1" && number(line)? > 0 => match rest.line()? {
            None => return Ok(None),
            Some((b'$', line)) => match rest.text(line)? {
                None => return Ok(None),
                Some(text) => text,
            },
            Some((_, line)) => line,
        },
        _ => return Ok(Some(Kind::Answer)),
    };
    let is_list = kind == b'*';
    Ok(Some(match first {
        b"subscribe" | b"unsubscribe" | b"psubscribe" | b"punsubscribe" | b"ssubscribe"
        | b"sunsubscribe" => Kind::Subscription,
        b"message" | b"pmessage" | b"smessage" if is_list => Kind::Message,
        _ if is_list => Kind::Answer,
        _ => Kind::Push,
    }))
}

/// The bytes that have not been looked at.
struct Rest<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Rest<'a> {
    /// The kind and the rest of the next line.
    fn line(&mut self) -> Framed<(u8, &'a [u8])> {
        let rest = &self.bytes[self.at..];
        let Some(end) = rest.windows(2).position(|pair| pair == b"\r\n") else { return Ok(None) };
        let Some((kind, line)) = rest[..end].split_first() else {
            return malformed("an empty line", rest);
        };
        self.at += end + 2;
        Ok(Some((*kind, line)))
    }

    /// The text whose length the line before it gives.
    fn text(&mut self, line: &[u8]) -> Framed<&'a [u8]> {
        let len = number(line)?;
        let rest = &self.bytes[self.at..];
        if rest.len() < len + 2 {
            return Ok(None);
        }
        if &rest[len..len + 2] != b"\r\n" {
            return malformed("a text that does not end where it should", line);
        }
        self.at += len + 2;
        Ok(Some(&rest[..len]))
    }

    /// So many values, whatever is in them.
    fn values(&mut self, mut left: usize) -> Framed<()> {
        while left > 0 {
            let Some((kind, line)) = self.line()? else { return Ok(None) };
            left -= 1;
            match kind {
                b'+' | b'-' | b':' | b'_' | b'#' | b',' | b'(' => {}
                // Nothing, as RESP2 writes it.
                b'$' | b'*' if line == b"-1" => {}
                b'$' | b'!' | b'=' => {
                    if self.text(line)?.is_none() {
                        return Ok(None);
                    }
                }
                b'*' | b'~' | b'>' => left += number(line)?,
                b'%' => left += 2 * number(line)?,
                // It stands before an element and is none.
                b'|' => left += 2 * number(line)? + 1,
                _ => return malformed("a reply of an unknown kind", &[kind]),
            }
        }
        Ok(Some(()))
    }
}

fn number(line: &[u8]) -> Result<usize, Malformed> {
    let number = std::str::from_utf8(line).ok().and_then(|line| line.parse().ok());
    number.map_or_else(|| malformed("a length that is none", line), Ok)
}

fn malformed<T>(what: &str, line: &[u8]) -> Result<T, Malformed> {
    let line = &line[..line.len().min(80)];
    Err(Malformed(format!("{what}: {:?}", String::from_utf8_lossy(line))))
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUESTS: [(&[u8], &[&[u8]]); 3] = [
        (b"*1\r\n$4\r\nPING\r\n", &[b"PING"]),
        (b"*3\r\n$3\r\nSET\r\n$0\r\n\r\n$6\r\na\r\n*1\r\r\n", &[b"SET", b"", b"a\r\n*1\r"]),
        (b"*2\r\n$3\r\nGET\r\n$11\r\n\xff$3\r\n\r\n>1\r\n\r\n", &[b"GET", b"\xff$3\r\n\r\n>1\r\n"]),
    ];

    const REPLIES: [(&[u8], Kind); 21] = [
        (b"+OK\r\n", Kind::Answer),
        (b"-NOSCRIPT none\r\n", Kind::Refusal),
        (b"!5\r\na\r\nb!\r\n", Kind::Refusal),
        (b":-12\r\n", Kind::Answer),
        (b"$-1\r\n", Kind::Answer),
        (b"*-1\r\n", Kind::Answer),
        (b"$0\r\n\r\n", Kind::Answer),
        (b"$5\r\n+OK\r\n\r\n", Kind::Answer),
        (b"*0\r\n", Kind::Answer),
        (b"*2\r\n$4\r\n*9\r\n\r\n:12\r\n", Kind::Answer),
        (b"*2\r\n*1\r\n*2\r\n:1\r\n$-1\r\n-ERR in a list\r\n", Kind::Answer),
        (b"*1\r\n$3\r\nget\r\n", Kind::Answer),
        (b"*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n", Kind::Subscription),
        (b"*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$0\r\n\r\n", Kind::Message),
        (b"_\r\n", Kind::Answer),
        (b"%2\r\n+a\r\n:1\r\n+b\r\n~2\r\n#t\r\n,1.5\r\n", Kind::Answer),
        (b"=7\r\ntxt:a\r\n\r\n", Kind::Answer),
        (b"(12345678901234567890\r\n", Kind::Answer),
        (b">3\r\n$7\r\nmessage\r\n$1\r\na\r\n$0\r\n\r\n", Kind::Push),
        (b">3\r\n+unsubscribe\r\n$1\r\na\r\n:0\r\n", Kind::Subscription),
        (b"|1\r\n+ttl\r\n:3\r\n*2\r\n:2\r\n|1\r\n+a\r\n*1\r\n:1\r\n$1\r\nb\r\n", Kind::Answer),
    ];

    /// One byte too few, wherever it is cut, is not enough; what follows is left alone.
    #[test]
    fn requests_end_where_they_end() {
        for (bytes, texts) in REQUESTS {
            for end in 0..bytes.len() {
                assert_eq!(request(&bytes[..end]), Ok(None), "{end} bytes of {bytes:?}");
            }
            for (after, _) in REQUESTS {
                let both = [bytes, after].concat();
                let whole = Request {
                    len: bytes.len(),
                    texts: texts.iter().map(|text| text.to_vec()).collect(),
                };
                assert_eq!(request(&both), Ok(Some(whole)));
            }
        }
    }

    #[test]
    fn replies_end_where_they_end() {
        for (bytes, kind) in REPLIES {
            for end in 0..bytes.len() {
                let cut = reply(&bytes[..end]);
                assert_eq!(cut, Ok(None), "{:?}", String::from_utf8_lossy(&bytes[..end]));
            }
            for (after, _) in REPLIES {
                let both = [bytes, after].concat();
                assert_eq!(reply(&both), Ok(Some(Reply { len: bytes.len(), kind })));
            }
        }
    }

    #[test]
    fn what_is_neither_is_told() {
        for bytes in ["PING\r\n", "*0\r\n", "*x\r\n", "*1\r\n:1\r\n", "*1\r\n$1\r\nabc\r\n", "\r\n"]
        {
            assert!(request(bytes.as_bytes()).is_err(), "{bytes:?}");
        }
        for bytes in ["?\r\n", "$x\r\n", "$1\r\nabc\r\n", "*1\r\n\r\n", "*-2\r\n", "%-1\r\n"] {
            assert!(reply(bytes.as_bytes()).is_err(), "{bytes:?}");
        }
    }
}
