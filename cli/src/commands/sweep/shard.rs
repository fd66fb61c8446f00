//! Which shard of a sweep this process is.

use clap::Args;
use scenarios::sweep::Shard;

use crate::output::Failure;

/// Which part of a sweep to run.
#[derive(Args)]
pub struct ShardArgs {
    /// Run only shard i of N. `sweep run` reads it from Slurm or Kubernetes where it is not given
    #[arg(long, value_name = "i/N")]
    pub shard: Option<Shard>,
    /// Shards in all, for Kubernetes, which tells a pod only its own index
    #[arg(long, value_name = "N", conflicts_with = "shard")]
    pub shards: Option<u64>,
}

impl ShardArgs {
    /// The shard given, or the one that `variable` (of the environment) tells; with where it is from.
    pub fn find(
        &self,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(Shard, Option<&'static str>), Failure> {
        if let Some(shard) = self.shard {
            return Ok((shard, None));
        }
        let number = |name: &str| -> Result<Option<u64>, Failure> {
            match variable(name).filter(|text| !text.is_empty()) {
                None => Ok(None),
                Some(text) => text.parse().map(Some).map_err(|_| {
                    Failure(format!(
                        "{name} is \"{text}\", but a number is due: name the shard with --shard i/N"
                    ))
                }),
            }
        };
        if let Some(task) = number("SLURM_ARRAY_TASK_ID")? {
            let least = number("SLURM_ARRAY_TASK_MIN")?.unwrap_or(1);
            let step = number("SLURM_ARRAY_TASK_STEP")?.unwrap_or(1).max(1);
            let count = number("SLURM_ARRAY_TASK_COUNT")?;
            let place = task.saturating_sub(least) / step + 1;
            return count
                .and_then(|count| Shard::new(place, count))
                .map(|shard| (shard, Some("SLURM_ARRAY_TASK_ID")))
                .ok_or_else(|| {
                    Failure(format!(
                        "task {task} of this Slurm array is none of 1 to N (SLURM_ARRAY_TASK_COUNT is {}): a part of an \
                         array is run again with --shard i/N",
                        count.map_or("not set".to_string(), |count| count.to_string())
                    ))
                });
        }
        if let Some(index) = number("JOB_COMPLETION_INDEX")? {
            let Some(count) = self.shards else {
                return Err(Failure(
                    "JOB_COMPLETION_INDEX tells which shard this is, but not of how many: add --shards N"
                        .to_string(),
                ));
            };
            let shard = Shard::new(index + 1, count);
            return shard.map(|shard| (shard, Some("JOB_COMPLETION_INDEX"))).ok_or_else(|| {
                Failure(format!(
                    "JOB_COMPLETION_INDEX is {index}, but --shards {count} has only 0 to {}",
                    count.max(1) - 1
                ))
            });
        }
        if self.shards.is_some() {
            return Err(Failure(
                "--shards needs JOB_COMPLETION_INDEX: name the shard with --shard i/N".to_string(),
            ));
        }
        Ok((Shard::WHOLE, None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(args: ShardArgs, variables: &[(&str, &str)]) -> Result<String, String> {
        let get = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| v.to_string());
        args.find(&get).map(|(shard, _)| shard.to_string()).map_err(|failure| failure.0)
    }

    #[test]
    fn shards_come_from_the_command_line_slurm_or_kubernetes() {
        let none = || ShardArgs { shard: None, shards: None };
        assert_eq!(find(none(), &[]).unwrap(), "1/1");
        let given = ShardArgs { shard: Shard::new(2, 3), shards: None };
        assert_eq!(find(given, &[("SLURM_ARRAY_TASK_ID", "9")]).unwrap(), "2/3");
        let slurm = |id, min, count| {
            find(
                none(),
                &[
                    ("SLURM_ARRAY_TASK_ID", id),
                    ("SLURM_ARRAY_TASK_MIN", min),
                    ("SLURM_ARRAY_TASK_COUNT", count),
                ],
            )
        };
        assert_eq!(slurm("0", "0", "16").unwrap(), "1/16");
        assert_eq!(slurm("16", "1", "16").unwrap(), "16/16");
        assert!(slurm("7", "3", "2").unwrap_err().contains("--shard i/N"));
        assert!(slurm("x", "3", "2").unwrap_err().contains("a number is due"));
        let pod = |index, shards| find(ShardArgs { shard: None, shards }, &[("JOB_COMPLETION_INDEX", index)]);
        assert_eq!(pod("0", Some(4)).unwrap(), "1/4");
        assert_eq!(pod("3", Some(4)).unwrap(), "4/4");
        assert!(pod("4", Some(4)).unwrap_err().contains("has only 0 to 3"));
        assert!(pod("0", None).unwrap_err().contains("--shards N"));
    }
}
