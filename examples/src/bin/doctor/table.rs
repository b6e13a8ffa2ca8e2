//! Findings as a table, which is text of 100 columns whatever it is written to.

use std::fmt;

use idem_redis::{Finding, Severity};

/// Of a line, in characters.
const WIDTH: usize = 100;
/// Between two columns.
const GAP: &str = "  ";
/// The longest that the column of servers gets; longer names are broken.
const WIDEST_SERVER: usize = 26;

/// Findings, those that are the same on several servers in one row.
pub(crate) struct Table<'a>(Vec<Row<'a>>);

struct Row<'a> {
    finding: &'a Finding,
    servers: Vec<&'a str>,
}

impl<'a> Table<'a> {
    pub(crate) fn of(findings: &'a [Finding]) -> Self {
        let mut rows: Vec<Row<'a>> = Vec::new();
        for finding in findings {
            match rows.iter_mut().find(|row| is_same(row.finding, finding)) {
                Some(row) => row.servers.push(&finding.server),
                None => rows.push(Row { finding, servers: vec![&finding.server] }),
            }
        }
        Self(rows)
    }

    /// How many rows are of this severity.
    fn count(&self, severity: Severity) -> usize {
        self.0.iter().filter(|row| row.finding.severity == severity).count()
    }
}

fn is_same(one: &Finding, other: &Finding) -> bool {
    let content = |of: &Finding| (of.severity, of.topic, of.what.clone(), of.advice.clone());
    content(one) == content(other)
}

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return writeln!(f, "nothing found: the deployment is as idem needs it");
        }
        let severity = longest([Severity::Endangers, Severity::Degrades, Severity::Notes]);
        let topic = longest(self.0.iter().map(|row| row.finding.topic)).max("about".len());
        let server = longest(self.0.iter().flat_map(|row| row.servers.iter().copied()));
        let server = server.clamp("server".len(), WIDEST_SERVER);
        let text = WIDTH - severity - topic - server - 3 * GAP.len();
        let mut line = |cells: [&str; 4]| {
            let [a, b, c, d] = cells;
            let line = format!("{a:severity$}{GAP}{b:topic$}{GAP}{c:server$}{GAP}{d}");
            writeln!(f, "{}", line.trim_end())
        };
        line(["", "about", "server", "finding"])?;
        for Row { finding, servers } in &self.0 {
            let Finding { severity, topic, what, advice, .. } = finding;
            let servers: Vec<_> = servers.iter().flat_map(|name| broken(name, server)).collect();
            let mut lines = wrapped(what, text);
            lines.extend(wrapped(&format!("> {advice}"), text));
            let (mut severity, mut topic) = (severity.to_string(), topic.to_string());
            for nth in 0..lines.len().max(servers.len()) {
                let cell = |cells: &[String]| cells.get(nth).cloned().unwrap_or_default();
                line([&severity, &topic, &cell(&servers), &cell(&lines)])?;
                severity.clear();
                topic.clear();
            }
        }
        let counts = [Severity::Endangers, Severity::Degrades, Severity::Notes]
            .map(|severity| format!("{} {severity}", self.count(severity)));
        writeln!(f, "\n{}", counts.join(", "))
    }
}

fn longest<T: fmt::Display>(texts: impl IntoIterator<Item = T>) -> usize {
    texts.into_iter().map(|text| text.to_string().chars().count()).max().unwrap_or(0)
}

/// Lines of at most this width, broken between words where that is possible.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace().flat_map(|word| broken(word, width)) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// Pieces of at most this width.
fn broken(word: &str, width: usize) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    letters.chunks(width).map(|piece| piece.iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_as_wide_as_they_may_be() {
        assert_eq!(wrapped("a bb ccc dddd", 4), ["a bb", "ccc", "dddd"]);
        assert_eq!(wrapped("ääääääää b", 5), ["äääää", "äää b"]);
        assert_eq!(wrapped("", 5), [""; 0]);
        assert_eq!(broken("node-1.example:6379", 8), ["node-1.e", "xample:6", "379"]);
    }
}
