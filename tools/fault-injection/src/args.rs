//! The command line.

use crate::daemons::Plan;
use crate::error::Result;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    /// Kills at points and at random times.
    Kills,
    /// So many power cuts.
    PowerCuts(u32),
    /// A power cut at each of so many first changes of a new database.
    CreationCuts(u32),
    /// The n-th write or sync of the disk fails, for every n.
    Anomalies,
    /// So many daemons on one Postgres.
    Daemons(u32),
    /// Due tasks of four daemons, over so many rounds of kills and set clocks.
    Schedule(u32),
}

/// Options of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) command: Command,
    /// Rounds at each point.
    pub(crate) rounds: u32,
    /// Rounds that are killed at a random time.
    pub(crate) random: u32,
    /// What all choices follow from, but not the times at which the system lets a thread run.
    pub(crate) seed: u64,
    pub(crate) json: bool,
    /// Of the anomalies, each so-manieth.
    pub(crate) step: u32,
    /// Rounds that are at work at once.
    pub(crate) lanes: u32,
    /// Calls that the daemons are sent.
    pub(crate) calls: u32,
    /// Whether leases of daemons are ended by hand.
    pub(crate) hurry: bool,
}

/// Daemons, if the command line does not say how many.
const DAEMONS: u32 = 4;

/// How it is used.
const USAGE: &str = "usage: toolcrib-fault-injection [--rounds N] [--random N] [--seed S] [--lanes N] [--json] [--power-cuts N | --creation-cuts N | --anomalies [--step N] | --daemons [N] [--calls N] [--hurry] | --schedule N]";

impl Options {
    /// Reads the words of a command line.
    pub(crate) fn parse(words: &[String]) -> Result<Self> {
        let mut options = Self {
            command: Command::Kills,
            rounds: 10,
            random: 20,
            seed: fastrand::u64(..),
            json: false,
            step: 1,
            lanes: 2,
            calls: 10_000,
            hurry: false,
        };
        let mut words = words.iter().peekable();
        while let Some(word) = words.next() {
            if word == "--daemons" {
                let count = words.next_if(|next| next.bytes().all(|byte| byte.is_ascii_digit()));
                let count = count.map_or(Ok(DAEMONS), |count| count.parse())?;
                options.command = Command::Daemons(count.clamp(2, 16));
                continue;
            }
            let mut number = || -> Result<u64> {
                let value = words.next().ok_or_else(|| format!("{word} takes a number"))?;
                value.parse().map_err(|_| format!("{word} takes a number, not \"{value}\"").into())
            };
            match word.as_str() {
                "--rounds" => options.rounds = u32::try_from(number()?)?,
                "--random" => options.random = u32::try_from(number()?)?,
                "--seed" => options.seed = number()?,
                "--lanes" => options.lanes = u32::try_from(number()?.max(1))?,
                "--step" => options.step = u32::try_from(number()?.max(1))?,
                "--power-cuts" => options.command = Command::PowerCuts(u32::try_from(number()?)?),
                "--creation-cuts" => {
                    options.command = Command::CreationCuts(u32::try_from(number()?)?);
                }
                "--anomalies" => options.command = Command::Anomalies,
                "--schedule" => {
                    options.command = Command::Schedule(u32::try_from(number()?.max(1))?);
                }
                "--calls" => options.calls = u32::try_from(number()?.max(100))?,
                "--hurry" => options.hurry = true,
                "--json" => options.json = true,
                _ => return Err(format!("unexpected argument \"{word}\"\n{USAGE}").into()),
            }
        }
        Ok(options)
    }

    /// What a trial with so many daemons is about.
    pub(crate) fn plan(&self, daemons: u32) -> Plan {
        Plan { daemons, calls: self.calls, hurry: self.hurry, seed: self.seed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Result<Options> {
        Options::parse(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn numbers_are_read_and_the_rest_is_refused() {
        let options = parse("--rounds 3 --random 4 --seed 5 --json --power-cuts 6").unwrap();
        assert_eq!((options.rounds, options.random, options.seed), (3, 4, 5));
        assert_eq!((options.json, options.command), (true, Command::PowerCuts(6)));
        let options = parse("--daemons --calls 500 --hurry").unwrap();
        assert_eq!((options.command, options.calls), (Command::Daemons(4), 500));
        assert_eq!(parse("--daemons 3 --json").unwrap().command, Command::Daemons(3));
        let command = parse("--creation-cuts 8").unwrap().command;
        assert_eq!(command, Command::CreationCuts(8));
        assert_eq!(parse("--schedule 9").unwrap().command, Command::Schedule(9));
        for wrong in ["--rounds", "--schedule", "--rounds x", "--rounds -1", "--round 3", "3"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
