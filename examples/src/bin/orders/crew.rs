//! The consumers, as whoever starts and kills them sees them.

use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::consumer::Settings;
use crate::told::Told;

/// All consumers there are.
pub(crate) struct Crew {
    /// Each one's, but for the name.
    settings: Settings,
    consumers: Vec<Hired>,
    /// So many there were, those that are dead included: no name comes twice.
    hired: u32,
    /// What those that are dead have told last.
    gone: Told,
}

struct Hired {
    name: String,
    process: Child,
    told: watch::Receiver<Told>,
    listener: JoinHandle<()>,
}

impl Crew {
    pub(crate) fn new(settings: Settings) -> Self {
        Self { settings, consumers: Vec::new(), hired: 0, gone: Told::default() }
    }

    pub(crate) const fn len(&self) -> usize {
        self.consumers.len()
    }

    /// What each has told, by the names that the table has for them.
    pub(crate) fn told(&self) -> Vec<(&str, Told)> {
        let told = |hired: &Hired| hired.told.borrow().clone();
        self.consumers.iter().map(|hired| (hired.name.as_str(), told(hired))).collect()
    }

    /// What those that are dead had told.
    pub(crate) const fn gone(&self) -> &Told {
        &self.gone
    }

    /// Starts one more, and gives its name.
    ///
    /// # Errors
    /// It did not start.
    pub(crate) async fn hire(&mut self) -> Result<String> {
        self.hired += 1;
        let name = format!("c{}", self.hired);
        let settings = Settings { name: name.clone(), ..self.settings.clone() };
        let mut process = start(&settings).await.context("cannot start a consumer")?;
        let (tells, told) = watch::channel(Told::default());
        let stdout = process.stdout.take().context("no pipe")?;
        let listener = tokio::spawn(listen(stdout, tells));
        self.consumers.push(Hired { name: name.clone(), process, told, listener });
        Ok(name)
    }

    /// Kills one, wherever it is in what it does. Gives its name and what it had in hand when it was
    /// last heard of.
    ///
    /// # Errors
    /// It may live.
    pub(crate) async fn kill(&mut self, nth: usize) -> Result<(String, u64)> {
        let mut hired = self.consumers.swap_remove(nth);
        hired.process.kill().await.context("cannot kill a consumer")?;
        let (name, told) = hired.last_told().await;
        let in_hand = told.in_hand;
        self.bury(told);
        Ok((name, in_hand))
    }

    /// # Errors
    /// One of them has ended by itself.
    pub(crate) fn are_at_work(&mut self) -> Result<()> {
        for Hired { name, process, .. } in &mut self.consumers {
            if let Some(status) = process.try_wait()? {
                anyhow::bail!("consumer {name} has ended by itself: {status}");
            }
        }
        Ok(())
    }

    /// Has them end what they have in hand, and waits for them. Gives what all have done.
    ///
    /// # Errors
    /// One of them could not go on.
    pub(crate) async fn dismiss(mut self) -> Result<Told> {
        let mut consumers = std::mem::take(&mut self.consumers);
        consumers.iter_mut().for_each(|hired| drop(hired.process.stdin.take()));
        for mut hired in consumers {
            let status = hired.process.wait().await?;
            ensure!(status.success(), "consumer {} could not go on: {status}", hired.name);
            let (_, told) = hired.last_told().await;
            self.bury(told);
        }
        Ok(self.gone)
    }

    fn bury(&mut self, told: Told) {
        self.gone.add(&Told { in_hand: 0, ..told });
    }
}

impl Hired {
    async fn last_told(self) -> (String, Told) {
        // It ends with the pipe, which ends with the process.
        let _ = self.listener.await;
        let told = self.told.borrow().clone();
        (self.name, told)
    }
}

/// Keeps what a consumer has told last. The line in which it was killed may be half a line.
async fn listen(stdout: ChildStdout, tells: watch::Sender<Told>) {
    let mut lines = BufReader::new(stdout).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if let Ok(told) = serde_json::from_str(&line) {
            tells.send_replace(told);
        }
    }
}

/// A process of this program that is a consumer. What it is told may hold a password, which a command
/// line would show to everybody.
async fn start(settings: &Settings) -> Result<Child> {
    let mut process = Command::new(std::env::current_exe()?)
        .arg("--consumer")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut line = serde_json::to_vec(settings)?;
    line.push(b'\n');
    process.stdin.as_mut().context("no pipe")?.write_all(&line).await?;
    Ok(process)
}
