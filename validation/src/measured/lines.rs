//! What single lines of a log say beside the table.

use super::log::Device;
use super::scan;

/// The line of parameters that nccl-tests prints first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Parameters {
    pub threads: Option<u32>,
    pub gpus_per_thread: Option<u32>,
    pub min_bytes: Option<u64>,
    pub max_bytes: Option<u64>,
    pub step: Option<Step>,
    pub warmup_iterations: Option<u32>,
    pub iterations: Option<u32>,
}

/// From one size to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Factor(u64),
    Bytes(u64),
}

impl Parameters {
    /// The parameters of a line that has them.
    pub fn find(line: &str) -> Option<Self> {
        let min_bytes = scan::after(line, "minBytes");
        let max_bytes = scan::after(line, "maxBytes");
        min_bytes.or(max_bytes)?;
        let step = line.split_once("step:").and_then(|(_, rest)| {
            let amount: u64 = scan::after(rest, "")?;
            let rest = rest.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
            if rest.starts_with("(factor") {
                Some(Step::Factor(amount))
            } else if rest.starts_with("(bytes") {
                Some(Step::Bytes(amount))
            } else {
                None
            }
        });
        let iterations = line.split_once("warmup iters:").map_or(line, |(_, rest)| rest);
        Some(Self {
            threads: scan::after(line, "nThread"),
            gpus_per_thread: scan::after(line, "nGpus"),
            min_bytes,
            max_bytes,
            step,
            warmup_iterations: scan::after(line, "warmup iters"),
            iterations: scan::after(iterations, " iters"),
        })
    }

    /// How many sizes were asked for; `None` where the line does not tell.
    pub fn sizes(&self) -> Option<u64> {
        let (least, most) = (self.min_bytes?, self.max_bytes?);
        if most < least {
            return None;
        }
        match self.step? {
            Step::Factor(factor) if factor >= 2 && least > 0 => {
                let mut sizes = 1;
                let mut size = least;
                while let Some(next) = size.checked_mul(factor)
                    && next <= most
                {
                    size = next;
                    sizes += 1;
                }
                Some(sizes)
            }
            Step::Bytes(bytes) if bytes > 0 => Some((most - least) / bytes + 1),
            Step::Factor(_) | Step::Bytes(_) => None,
        }
    }
}

/// A rank line: `#  Rank  0 Group  0 Pid 574691 on node-a device  0 [0000:06:00] NVIDIA H100 80GB HBM3`.
pub(super) fn device(line: &str) -> Option<Device> {
    let words = scan::words(line);
    let at =
        |name: &str, from: usize| (from..words.len()).find(|&i| words[i].1.trim_start_matches('#') == name);
    let whole = |i: usize| words.get(i).and_then(|(_, word)| word.parse::<u64>().ok());
    let rank = at("Rank", 0)?;
    let pid = at("Pid", rank)?;
    let on = at("on", pid)?;
    let device = at("device", on)?;
    let model = words.get(device + 2).filter(|(_, word)| word.starts_with('[')).and_then(|(start, _)| {
        let rest = &line[*start..];
        Some(rest[rest.find(']')? + 1..].trim().to_string())
    });
    Some(Device {
        rank: u32::try_from(whole(rank + 1)?).ok()?,
        pid: whole(pid + 1)?,
        host: words.get(on + 1).filter(|_| on + 2 <= device)?.1.to_string(),
        device: u32::try_from(whole(device + 1)?).ok()?,
        model: model.unwrap_or_default(),
    })
}

/// The text after `key` up to the next blank, without what surrounds it.
pub(super) fn word_after<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(key)?;
    let word = rest.trim_start_matches([' ', ':', '=']).split_whitespace().next()?;
    let word = word.trim_matches(['"', '\'', ',', ';', ')', '(', '`']);
    (!word.is_empty()).then_some(word)
}

/// The version of NCCL or RCCL in a line.
pub(super) fn library_version(line: &str) -> Option<String> {
    let word = word_after(line, "NCCL version ").or_else(|| word_after(line, "RCCL version"))?;
    let word = word.trim_end_matches('.').trim_end_matches("+cuda").trim_end_matches("+hip");
    word.starts_with(|c: char| c.is_ascii_digit()).then(|| word.to_string())
}

/// A version as NCCL counts it: 23003 is 2.30.3; before 2.9, 2804 is 2.8.4.
pub(super) fn version_code(code: u64) -> Option<String> {
    let (thousand, hundred) = if code >= 10_000 { (10_000, 100) } else { (1000, 100) };
    (code >= 1000).then(|| format!("{}.{}.{}", code / thousand, code % thousand / hundred, code % hundred))
}

/// Variables of NCCL or RCCL in a line: `NCCL_ALGO=Ring`, `NCCL_ALGO set by environment to RING`.
pub(super) fn environment(line: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    if !line.contains("CCL_") {
        return found;
    }
    let words = scan::words(line);
    for (i, (start, word)) in words.iter().enumerate() {
        let Some(at) = word.find("NCCL_").or_else(|| word.find("RCCL_")) else { continue };
        let name = &word[at..];
        let end = name
            .find(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'))
            .unwrap_or(name.len());
        let (name, rest) = name.split_at(end);
        if name.len() < 6 || word[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
            continue;
        }
        if let Some(value) = rest.strip_prefix('=') {
            let value = value.trim_matches(['"', '\'', '`', ';', ',', ')', '\\']);
            if !value.is_empty() && !value.starts_with('$') {
                found.push((name.to_string(), value.to_string()));
            }
        } else if rest.is_empty() && words.get(i + 1).is_some_and(|(_, word)| *word == "set") {
            let after = &line[start + word.len()..];
            for phrase in [" set by environment to ", " set to "] {
                if let Some(value) = after.strip_prefix(phrase) {
                    let value = value.trim().trim_end_matches('.');
                    found.push((name.to_string(), value.to_string()));
                    break;
                }
            }
        }
    }
    found
}

/// What a line says of a run that failed, as one can quote it.
pub(super) fn failure(line: &str) -> Option<String> {
    const SIGNS: [&str; 13] = [
        "Test failure",
        "Test NCCL failure",
        "Test CUDA failure",
        "unhandled cuda error",
        "unhandled system error",
        "NCCL error",
        "Segmentation fault",
        "MPI_ABORT was invoked",
        "exited on signal",
        "exited with non-zero",
        "invalid size specified",
        "Invalid number of GPUs",
        "DUE TO TIME LIMIT",
    ];
    (!line.contains("NCCL INFO") && SIGNS.iter().any(|sign| line.contains(sign))).then(|| quoted(line))
}

/// What a line says of why a test did not even begin.
pub(super) fn complaint(line: &str) -> Option<String> {
    const SIGNS: [&str; 5] = [
        "error while loading shared libraries",
        "command not found",
        "No such file or directory",
        "not enough slots",
        "NCCL WARN",
    ];
    let usage = line.trim_start().to_ascii_lowercase().starts_with("usage:");
    failure(line).or_else(|| (usage || SIGNS.iter().any(|sign| line.contains(sign))).then(|| quoted(line)))
}

fn quoted(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut text = words.join(" ");
    if let Some((at, _)) = text.char_indices().nth(160) {
        text.truncate(at);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_and_their_sizes() {
        let line = "# nThread 1 nGpus 8 minBytes 8 maxBytes 1000000000 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1";
        let found = Parameters::find(line).unwrap();
        assert_eq!((found.threads, found.gpus_per_thread), (Some(1), Some(8)));
        assert_eq!((found.warmup_iterations, found.iterations), (Some(5), Some(20)));
        assert_eq!(found.sizes(), Some(27));
        let line =
            "minBytes 1073741824 maxBytes 27950841856 step: 2147483648(bytes) warmup iters: 5 iters: 20";
        assert_eq!(Parameters::find(line).unwrap().sizes(), Some(13));
        assert_eq!(Parameters::find("nThread 1"), None);
    }

    #[test]
    fn rank_lines_old_and_new() {
        let new = device(
            "0: #  Rank 12 Group  0 Pid   6737 on node-b device  4 [0000:84:00] NVIDIA H100 80GB HBM3",
        )
        .unwrap();
        assert_eq!((new.rank, new.pid, new.device), (12, 6737, 4));
        assert_eq!((new.host.as_str(), new.model.as_str()), ("node-b", "NVIDIA H100 80GB HBM3"));
        let old = device("#   Rank  0 Pid 112424 on localhost device  0 [0x00] A100-SXM4-40GB").unwrap();
        assert_eq!((old.rank, old.model.as_str()), (0, "A100-SXM4-40GB"));
        assert_eq!(device("NCCL INFO comm 0x1 rank 0 nranks 2 on device"), None);
    }

    #[test]
    fn versions_and_variables() {
        assert_eq!(library_version("NCCL version 2.30.3+cuda13.0").as_deref(), Some("2.30.3+cuda13.0"));
        assert_eq!(library_version("NCCL INFO NCCL version 2.26.2+cuda.").as_deref(), Some("2.26.2"));
        assert_eq!(
            library_version("RCCL version : 2.27.7-HEAD:96a25b5").as_deref(),
            Some("2.27.7-HEAD:96a25b5")
        );
        assert_eq!(version_code(23003).as_deref(), Some("2.30.3"));
        assert_eq!(version_code(2804).as_deref(), Some("2.8.4"));
        let pair = |name: &str, value: &str| (name.to_string(), value.to_string());
        let line = "host:1:2 [0] NCCL INFO NCCL_IB_GID_INDEX set by environment to 3.";
        assert_eq!(environment(line), [pair("NCCL_IB_GID_INDEX", "3")]);
        let line = "mpirun -x NCCL_ALGO=Ring -x MY_NCCL_X=1 -x NCCL_DEBUG -x \"NCCL_IB_HCA=mlx5_0,mlx5_1\" all_reduce_perf";
        assert_eq!(environment(line), [pair("NCCL_ALGO", "Ring"), pair("NCCL_IB_HCA", "mlx5_0,mlx5_1")]);
    }
}
