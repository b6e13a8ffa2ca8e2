//! Asking a server something, apart from what is tested.
//!
//! Not by the client library: a signal interrupts a read that has a timeout, and the library gives up
//! at that.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use redis::{FromRedisValue, Parser, RedisResult};

/// Longer than a server that runs takes; one that stands still is noticed.
const LIMIT: Duration = Duration::from_secs(5);

/// A connection to a server of this machine.
pub(crate) struct Asking {
    stream: Uninterrupted,
    /// Holds what was read beyond a reply.
    parser: Parser,
}

impl Asking {
    pub(crate) fn connect(port: u16) -> RedisResult<Self> {
        let stream = TcpStream::connect_timeout(&(Ipv4Addr::LOCALHOST, port).into(), LIMIT)?;
        stream.set_read_timeout(Some(LIMIT))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: Uninterrupted(stream), parser: Parser::new() })
    }

    /// Sends a command and gives its reply.
    pub(crate) fn ask<T: FromRedisValue>(&mut self, command: &[&str]) -> RedisResult<T> {
        self.send(command)?;
        self.reply()
    }

    /// Sends all commands at once and gives the reply to each.
    pub(crate) fn ask_all<T: FromRedisValue>(
        &mut self,
        commands: &[Vec<&str>],
    ) -> RedisResult<Vec<T>> {
        for command in commands {
            self.send(command)?;
        }
        commands.iter().map(|_| self.reply()).collect()
    }

    fn send(&mut self, command: &[&str]) -> RedisResult<()> {
        let Some((name, arguments)) = command.split_first() else { panic!("no command") };
        Ok(self.stream.0.write_all(&redis::cmd(name).arg(arguments).get_packed_command())?)
    }

    fn reply<T: FromRedisValue>(&mut self) -> RedisResult<T> {
        let reply = self.parser.parse_value(&mut self.stream)?;
        Ok(T::from_redis_value(reply.extract_error()?)?)
    }
}

struct Uninterrupted(TcpStream);

impl Read for Uninterrupted {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }
}
