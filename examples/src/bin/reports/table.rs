//! The table: how each request was answered, and what came of its runs.

use std::fmt;

use crate::client::Answers;
use crate::story::Story;

pub(crate) struct Table<'a> {
    pub(crate) answers: &'a [Answers],
    pub(crate) story: &'a Story,
}

impl Answers {
    const fn counts(&self) -> [u64; 4] {
        let Self { request: _, new, replays, refused } = self;
        [*new + *replays + *refused, *new, *replays, *refused]
    }
}

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heads = ["asked", "new", "replays", "refused"];
        line(f, "request", heads.map(str::to_owned), "renderings", "e-mail")?;
        let mut totals = [0; 4];
        for answers in self.answers {
            let counts = answers.counts();
            totals = std::array::from_fn(|nth| totals[nth] + counts[nth]);
            let Some(told) = self.story.requests.get(&answers.request) else { continue };
            let fates: Vec<_> = told
                .renderings
                .iter()
                .map(|rendering| self.story.fate(told, rendering).to_string())
                .collect();
            let (fates, mails) = (fates.join(", "), told.mail_answers.join(", "));
            line(f, &answers.request, counts.map(|count| count.to_string()), &fates, &mails)?;
        }
        line(f, "all", totals.map(|total| total.to_string()), "", "")
    }
}

fn line(
    f: &mut fmt::Formatter<'_>,
    request: &str,
    [asked, new, replays, refused]: [String; 4],
    renderings: &str,
    mails: &str,
) -> fmt::Result {
    let counts = format!("{asked:>7}{new:>6}{replays:>9}{refused:>9}");
    let line = format!("{request:<12}{counts}   {renderings:<36} {mails}");
    writeln!(f, "{}", line.trim_end())
}
