//! The values of `params find`'s arguments.

use tfhe_sbc_core::parameters::ParameterName;
use tfhe_sbc_oracle::search::Weights;
use tfhe_sbc_transport::human;

pub(super) fn probability(text: &str) -> Result<f64, String> {
    let wrong = || format!("`{text}` is no probability: write 2^-128, or a number such as 1e-12");
    let log2 = match text.strip_prefix("2^") {
        Some(exponent) => exponent.parse::<f64>().map_err(|_| wrong())?,
        None => {
            let p: f64 = text.parse().map_err(|_| wrong())?;
            if !(p > 0.0 && p < 1.0) {
                return Err(wrong());
            }
            p.log2()
        }
    };
    log2.is_finite().then_some(log2).ok_or_else(wrong)
}

pub(super) fn deviation(text: &str) -> Result<f64, String> {
    let wrong = |_| format!("`{text}` is no deviation: write 2^-25, or a number such as 3e-8");
    match text.strip_prefix("2^") {
        Some(exponent) => exponent.parse().map(f64::exp2).map_err(wrong),
        None => text.parse().map_err(wrong),
    }
}

pub(super) fn weights(text: &str) -> Result<Weights, String> {
    let mut found = Weights {
        latency: 0.0,
        ..Weights::LATENCY
    };
    for part in text.split(',') {
        let (what, weight) = part.split_once(':').unwrap_or((part, "1"));
        let weight: f64 = weight.trim().parse().map_err(|_| {
            format!("`{weight}` is no weight: write a number, as in latency:1,key:0.5")
        })?;
        let place = match what.trim() {
            "latency" => &mut found.latency,
            "throughput" => &mut found.throughput,
            "key" => &mut found.key,
            "upload" => &mut found.upload,
            other => {
                return Err(format!(
                    "`{other}` cannot be minimised: latency, throughput, key and upload can"
                ));
            }
        };
        *place += weight;
    }
    Ok(found)
}

pub(super) fn bytes(text: &str) -> Result<f64, String> {
    let bytes = human::parse_bytes(text).map(|bytes| bytes as f64);
    bytes.ok_or_else(|| format!("`{text}` is no size: write bytes, or 16MiB, 1.5KiB"))
}

pub(super) fn name(text: &str) -> Result<String, String> {
    match ParameterName::from_text(text) {
        Some(_) if !text.is_empty() => Ok(text.to_owned()),
        _ => Err("a name has 1 to 32 printable characters".to_owned()),
    }
}
