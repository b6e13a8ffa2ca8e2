//! Where deliveries come from: a file, standard input, or what ships with the program.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, Result};
use tokio::sync::mpsc;

use crate::delivery::Delivery;
use crate::lines::Lines;

/// The longest line, in bytes.
const LONGEST: usize = 1 << 20;
/// Items that are read ahead: with the deliveries in flight, all that is in memory at a time.
const AHEAD: usize = 16;

static SHIPPED: &[u8] = include_bytes!("../../../data/deliveries.jsonl");

/// An open source of deliveries.
pub(crate) struct Input {
    reader: Box<dyn BufRead + Send>,
    name: String,
    /// Its size, where that is known.
    pub(crate) bytes: Option<u64>,
}

/// One line of the input.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) line: u64,
    /// How much of the input lies before it, in bytes.
    pub(crate) starts_at: u64,
    /// A delivery, or the reason why it is none.
    pub(crate) delivery: Result<Delivery, String>,
}

impl Input {
    /// Opens it.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(crate) fn open(file: Option<&Path>) -> Result<Self> {
        let Some(path) = file else {
            let name = "the shipped deliveries".to_owned();
            return Ok(Self { reader: Box::new(SHIPPED), name, bytes: Some(SHIPPED.len() as u64) });
        };
        if path == Path::new("-") {
            let reader = Box::new(BufReader::new(io::stdin()));
            return Ok(Self { reader, name: "standard input".to_owned(), bytes: None });
        }
        let name = path.display().to_string();
        let file = File::open(path).with_context(|| format!("cannot open {name}"))?;
        let about = file.metadata().with_context(|| format!("cannot read {name}"))?;
        if about.is_dir() {
            anyhow::bail!(
                "cannot read {name}: it is a directory; give a file, or - for standard input"
            );
        }
        let bytes = about.is_file().then_some(about.len());
        Ok(Self { reader: Box::new(BufReader::new(file)), name, bytes })
    }

    /// Reads it on a thread of its own, a bounded way ahead. An `Err` is the last item.
    ///
    /// The thread is left alone at the end: nothing wakes it from a read of standard input.
    pub(crate) fn read(self) -> mpsc::Receiver<Result<Item>> {
        let (items, receiver) = mpsc::channel(AHEAD);
        std::thread::spawn(move || {
            let Self { reader, name, .. } = self;
            for line in Lines::new(reader, LONGEST) {
                let item = match line {
                    Ok(line) => match line.text {
                        Ok(text) if text.trim().is_empty() => continue,
                        Ok(text) => Ok(Item {
                            line: line.number,
                            starts_at: line.starts_at,
                            delivery: Delivery::parse(&text),
                        }),
                        Err(bad) => Ok(Item {
                            line: line.number,
                            starts_at: line.starts_at,
                            delivery: Err(bad.to_string()),
                        }),
                    },
                    Err(error) => Err(error).with_context(|| format!("cannot read {name}")),
                };
                let over = item.is_err();
                if items.blocking_send(item).is_err() || over {
                    return;
                }
            }
        });
        receiver
    }
}
