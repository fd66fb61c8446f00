//! Config files: `KEY value… {comment}` lines.

use std::collections::{BTreeMap, BTreeSet};

use sim_core::{Duration, Rate};

use super::super::lines::{lines, quote};
use super::super::number::{self, Decimal};
use super::super::report::Log;
use super::classify::is_key;

/// One key.
#[derive(Debug)]
struct Entry<'a> {
    line: usize,
    values: Vec<&'a str>,
}

/// The keys of a config file. Reading a key marks it as used.
#[derive(Debug)]
pub(super) struct Config<'a> {
    /// The file.
    pub file: &'a str,
    entries: BTreeMap<&'a str, Entry<'a>>,
    used: BTreeSet<&'a str>,
}

impl<'a> Config<'a> {
    /// Reads a config file.
    pub fn open(log: &mut Log, file: &'a str, text: &'a str) -> Self {
        let mut entries = BTreeMap::new();
        for line in lines(log, file, text) {
            let text = line.text.split(['{', '#']).next().unwrap_or_default();
            let mut words = text.split_whitespace();
            let Some(key) = words.next() else { continue };
            if !is_key(key) {
                log.error(file, line.number, format!("{} is no key; a line is KEY value", quote(key)));
                continue;
            }
            let values: Vec<&str> = words.collect();
            if values.is_empty() {
                log.error(file, line.number, format!("{key} has no value"));
                continue;
            }
            if let Some(before) = entries.insert(key, Entry { line: line.number, values }) {
                let text = format!("{key} is given again; line {} is not used", before.line);
                log.note(file, line.number, text);
            }
        }
        Self { file, entries, used: BTreeSet::new() }
    }

    /// Whether the key is there; does not mark it.
    pub fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// The first value of a key; does not mark it.
    pub fn peek(&self, key: &str) -> Option<&'a str> {
        self.entries.get(key)?.values.first().copied()
    }

    /// The line of a key, 0 when it is not there.
    pub fn line(&self, key: &str) -> usize {
        self.entries.get(key).map_or(0, |entry| entry.line)
    }

    /// All values of a key.
    pub fn values(&mut self, key: &str) -> Option<&[&'a str]> {
        let (&key, entry) = self.entries.get_key_value(key)?;
        self.used.insert(key);
        Some(&entry.values)
    }

    fn read<T>(&mut self, log: &mut Log, key: &str, read: impl Fn(&str) -> Result<T, String>) -> Option<T> {
        let value = *self.values(key)?.first()?;
        match read(value) {
            Ok(value) => Some(value),
            Err(why) => {
                log.error(self.file, self.line(key), format!("{key} {why}"));
                None
            }
        }
    }

    /// A whole number.
    pub fn whole(&mut self, log: &mut Log, key: &str) -> Option<u64> {
        self.read(log, key, number::whole)
    }

    /// 0 or 1.
    pub fn flag(&mut self, log: &mut Log, key: &str) -> Option<bool> {
        self.read(log, key, |text| match text {
            "0" => Ok(false),
            "1" => Ok(true),
            _ => Err(format!("{} is neither 0 nor 1", quote(text))),
        })
    }

    /// A rate.
    pub fn rate(&mut self, log: &mut Log, key: &str) -> Option<Rate> {
        self.read(log, key, number::rate)
    }

    /// A probability or fraction.
    pub fn fraction(&mut self, log: &mut Log, key: &str) -> Option<f64> {
        self.read(log, key, number::probability)
    }

    /// A number in units of `unit` base units, as a whole number of base units.
    pub fn scaled(&mut self, log: &mut Log, key: &str, unit: u64) -> Option<u64> {
        self.read(log, key, |text| {
            let decimal = Decimal::parse(text).map_err(|why| format!("{} {why}", quote(text)))?;
            decimal.times(unit).ok_or_else(|| format!("{} is too large", quote(text)))
        })
    }

    /// A number of microseconds.
    pub fn micros(&mut self, log: &mut Log, key: &str) -> Option<Duration> {
        self.scaled(log, key, 1_000_000).map(Duration)
    }

    /// A number of microseconds that is not 0.
    pub fn interval(&mut self, log: &mut Log, key: &str) -> Option<Duration> {
        let span = self.micros(log, key)?;
        if span == Duration::ZERO {
            log.error(self.file, self.line(key), format!("{key} is 0; an interval is due"));
            return None;
        }
        Some(span)
    }

    /// A map `n rate value…`, by rate.
    pub fn map<T>(
        &mut self,
        log: &mut Log,
        key: &str,
        value: impl Fn(&str) -> Result<T, String>,
    ) -> Option<BTreeMap<Rate, T>> {
        let (file, line) = (self.file, self.line(key));
        let values = self.values(key)?;
        let announced = number::whole(values[0]);
        let pairs = (values.len() - 1) / 2;
        if announced != Ok(pairs as u64) || values.len() % 2 == 0 {
            let text = format!(
                "{key} announces {} pairs of rate and value, {} values follow",
                values[0],
                values.len() - 1
            );
            log.error(file, line, text);
            return None;
        }
        let mut map = BTreeMap::new();
        for pair in values[1..].chunks_exact(2) {
            match number::rate(pair[0]).and_then(|rate| Ok((rate, value(pair[1])?))) {
                Ok((rate, value)) => {
                    if map.insert(rate, value).is_some() {
                        log.note(file, line, format!("{key} has {rate} twice: the last counts"));
                    }
                }
                Err(why) => log.error(file, line, format!("{key}: {why}")),
            }
        }
        Some(map)
    }

    /// Notes the keys nothing was made of: those known to have no counterpart, and those not known.
    pub fn note_unused(&self, log: &mut Log) {
        let unused: Vec<&str> =
            self.entries.keys().filter(|key| !self.used.contains(*key)).copied().collect();
        let (known, unknown): (Vec<&str>, Vec<&str>) =
            unused.into_iter().partition(|key| is_without_counterpart(key));
        if !known.is_empty() {
            log.note(self.file, 0, format!("no effect here: {}", known.join(", ")));
        }
        if !unknown.is_empty() {
            let listed: Vec<String> =
                unknown.iter().map(|key| format!("{key} (line {})", self.line(key))).collect();
            log.note(self.file, 0, format!("not known, so without effect: {}", listed.join(", ")));
        }
    }
}

/// Keys of the family that name files, choose what is recorded, or tune what has no counterpart.
fn is_without_counterpart(key: &str) -> bool {
    const KEYS: &[&str] = &[
        "APP_START_TIME",
        "APP_STOP_TIME",
        "BASE_RTT",
        "CLAMP_TARGET_RATE_AFTER_TIMER",
        "CNP_INTERVAL",
        "DCTCP_RATE_AI",
        "ENABLE_TRACE",
        "EWMA_GAIN",
        "FAST_REACT",
        "FAST_RECOVERY_TIMES",
        "FIXED_WIN",
        "FLOWGEN_START_TIME",
        "FLOWGEN_STOP_TIME",
        "FLOW_LEVEL_ECMP",
        "GLOBAL_T",
        "INT_MULTI",
        "L2_CHUNK_SIZE",
        "L2_WAIT_FOR_ACK",
        "LOAD",
        "MAX_RATE",
        "MI_THRESH",
        "MON_END",
        "MON_START",
        "MULTI_RATE",
        "NIC_TOTAL_PAUSE_TIME",
        "NP_SAMPLING_INTERVAL",
        "PAUSE_TIME",
        "PINT_LOG_BASE",
        "PINT_PROB",
        "QLEN_MON_END",
        "QLEN_MON_START",
        "RATE_BOUND",
        "SAMPLE_FEEDBACK",
        "SEND_IN_CHUNKS",
        "SW_MONITORING_INTERVAL",
        "U_TARGET",
        "VAR_WIN",
    ];
    const OF_CONGESTION: &[&str] = &[
        "ALPHA_RESUME_INTERVAL",
        "BYTE_COUNTER",
        "CLAMP_TARGET_RATE",
        "DCTCP_GAIN",
        "MIN_RATE",
        "RATE_AI",
        "RATE_DECREASE_INTERVAL",
        "RATE_HAI",
        "RP_TIMER",
        "TIMELY_BETA",
        "TIMELY_T_HIGH",
        "TIMELY_T_LOW",
    ];
    let ends = ["_FILE", "_MON_INTERVAL"];
    KEYS.contains(&key)
        || OF_CONGESTION.contains(&key)
        || key.starts_with("CONWEAVE_")
        || ends.iter().any(|end| key.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(text: &str) -> (Log, Config<'_>) {
        let mut log = Log::new(false);
        let config = Config::open(&mut log, "c", text);
        (log, config)
    }

    #[test]
    fn values_comments_and_repeats() {
        let (mut log, mut config) = open("A 1 {x 2}\r\n\r\nRP_TIMER 900 \nB 50Mb/s # y\nA 0\n");
        assert_eq!(config.flag(&mut log, "A"), Some(false));
        assert_eq!(config.micros(&mut log, "RP_TIMER"), Some(Duration::from_us(900)));
        assert_eq!(config.rate(&mut log, "B"), Some(Rate::mbps(50)));
        assert_eq!(config.flag(&mut log, "C"), None);
        config.note_unused(&mut log);
        let notes = log.finish().unwrap();
        assert_eq!(notes.len(), 1);
        assert_eq!(notes[0].to_string(), "c:5: A is given again; line 1 is not used");
    }

    #[test]
    fn unused_keys_are_named() {
        let (mut log, config) = open("QLEN_MON_FILE x\nRP_TIMR 3\nENABLE_TRACE 1\n");
        config.note_unused(&mut log);
        let notes: Vec<_> = log.finish().unwrap().into_iter().map(|n| n.text).collect();
        assert_eq!(notes[0], "no effect here: ENABLE_TRACE, QLEN_MON_FILE");
        assert_eq!(notes[1], "not known, so without effect: RP_TIMR (line 2)");
    }

    #[test]
    fn maps() {
        let (mut log, mut config) = open("M 2 25000000000 100 50000000000 200\nN 3 25000000000 100\n");
        let map = config.map(&mut log, "M", number::whole).unwrap();
        assert_eq!(map.into_iter().collect::<Vec<_>>(), [(Rate::gbps(25), 100), (Rate::gbps(50), 200)]);
        assert_eq!(config.map(&mut log, "N", number::whole), None);
        let error = log.finish().unwrap_err().to_string();
        assert_eq!(error, "c:2: N announces 3 pairs of rate and value, 2 values follow");
    }

    #[test]
    fn mistakes_name_their_line() {
        let (mut log, mut config) = open("A 2\nB\nlower 1\nR -5\nI 0\n");
        config.flag(&mut log, "A");
        config.scaled(&mut log, "R", 1);
        config.interval(&mut log, "I");
        assert_eq!(
            log.finish().unwrap_err().to_string(),
            "c:2: B has no value\nc:3: \"lower\" is no key; a line is KEY value\nc:1: A \"2\" is neither 0 nor 1\n\
             c:4: R \"-5\" is negative\nc:5: I is 0; an interval is due"
        );
    }
}
