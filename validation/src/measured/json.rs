//! The JSON report of nccl-tests (`-J FILE`, file versions 1 to 3).

use serde_json::{Map, Value};

use super::collective::Collective;
use super::lines::{self, Parameters, Step};
use super::log::{Device, MeasuredRow, Timing};
use super::text::{Draft, Surroundings};

/// What a printed digit of the report is worth: it has six decimals.
const DIGIT: f64 = 1e-6;

/// The reports in a text, one after the other.
pub(super) fn read(text: &str) -> Result<Vec<(Draft, Surroundings)>, String> {
    let text = text.trim_start_matches('\u{feff}');
    let mut tables = Vec::new();
    for report in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        let report =
            report.map_err(|error| format!("{error}; a run that was stopped leaves its report cut"))?;
        let Value::Object(report) = report else { return Err("it is not an object".to_string()) };
        if !report.contains_key("results") {
            return Err("it has no key \"results\"".to_string());
        }
        tables.push(table(&report));
    }
    Ok(tables)
}

fn table(report: &Map<String, Value>) -> (Draft, Surroundings) {
    let mut around = Surroundings::default();
    let mut draft = Draft::default();
    let words =
        |key: &str| report.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let args: Vec<&str> = words("args").collect();
    draft.started = args.first().and_then(|program| Collective::from_program(program));
    around.environment = words("env").flat_map(lines::environment).collect();
    around.library_version = report.get("nccl_version").and_then(Value::as_u64).and_then(lines::version_code);
    if let Some(config) = report.get("config") {
        draft.parameters = parameters(config);
        let devices = config.get("devices").or_else(|| report.get("devices")).and_then(Value::as_array);
        draft.devices = devices.into_iter().flatten().filter_map(device).collect();
    }
    let results = report.get("results").and_then(Value::as_array);
    for (i, result) in results.into_iter().flatten().enumerate() {
        draft.rows.extend(row(i + 1, result));
    }
    if let Some(bounds) = report.get("out_of_bounds") {
        let count = bounds.get("count").and_then(Value::as_u64).unwrap_or(0);
        let okay = bounds.get("okay").and_then(Value::as_bool).unwrap_or(true);
        draft.out_of_bounds = Some((0, count, !okay));
    }
    draft.average =
        report.get("average_bus_bandwidth").and_then(|average| Some((0, number(average.get("bandwidth")?)?)));
    let errors: Vec<&str> = words("errors").filter(|error| !error.trim().is_empty()).collect();
    if let Some(error) = errors.first()
        && !error.eq_ignore_ascii_case("no error")
    {
        around.failure = Some((0, format!("\"errors\" has \"{error}\"")));
    }
    (draft, around)
}

fn parameters(config: &Value) -> Parameters {
    let whole = |key: &str| config.get(key).and_then(Value::as_u64);
    let small = |key: &str| whole(key).and_then(|value| u32::try_from(value).ok());
    Parameters {
        threads: small("nthreads"),
        gpus_per_thread: small("ngpus"),
        min_bytes: whole("minimum_bytes"),
        max_bytes: whole("maximum_bytes"),
        step: whole("step_factor").map(Step::Factor).or(whole("step_bytes").map(Step::Bytes)),
        warmup_iterations: small("warmup_iters"),
        iterations: small("iterations"),
    }
}

fn device(device: &Value) -> Option<Device> {
    let whole = |key: &str| device.get(key).and_then(Value::as_u64);
    let text = |key: &str| device.get(key).and_then(Value::as_str).unwrap_or_default().trim().to_string();
    Some(Device {
        rank: u32::try_from(whole("rank")?).ok()?,
        pid: whole("pid").unwrap_or(0),
        host: text("hostname"),
        device: whole("device").and_then(|d| u32::try_from(d).ok()).unwrap_or(0),
        model: text("device_info"),
    })
}

/// A number, or the word `nan` that the report has for one that is none.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) if text.eq_ignore_ascii_case("nan") => Some(f64::NAN),
        _ => None,
    }
}

fn row(place: usize, result: &Value) -> Option<MeasuredRow> {
    let text = |key: &str| result.get(key).and_then(Value::as_str).map(str::trim);
    Some(MeasuredRow {
        line: place,
        bytes: result.get("size").and_then(Value::as_u64)?,
        count: result.get("count").and_then(Value::as_u64).unwrap_or(0),
        datatype: text("type").unwrap_or("float").to_string(),
        op: text("redop").filter(|op| !op.is_empty() && *op != "none").map(str::to_string),
        root: text("root").and_then(|root| root.parse().ok()),
        out_of_place: result.get("out_of_place").and_then(timing),
        in_place: result.get("in_place").and_then(timing),
    })
}

fn timing(half: &Value) -> Option<Timing> {
    Some(Timing {
        time_us: half.get("time").or_else(|| half.get("cpu_time")).and_then(number)?,
        algbw_gbytes_per_s: half.get("alg_bw").and_then(number),
        busbw_gbytes_per_s: half.get("bus_bw").and_then(number),
        wrong: half.get("nwrong").and_then(number).filter(|n| *n >= 0.0).map(|n| n as u64),
        max_error: None,
        time_digit_us: DIGIT,
        bandwidth_digit_gbytes_per_s: DIGIT,
    })
}
