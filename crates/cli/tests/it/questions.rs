//! The questions of `docs/queries.md`, asked of a server as they are printed there; what they
//! cost; and pictures of answers.

use std::path::Path;

use crate::common::{Server, packed, shared, tfhe_sbc};

/// The page, and the part of it about missing values.
fn page() -> (String, String) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/queries.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (before, rest) = page.split_once("\n## Missing values\n").unwrap();
    let (part, behind) = rest.split_once("\n## ").unwrap();
    (format!("{before}\n## {behind}"), part.to_owned())
}

/// The documentation's questions and answers; `None` where the answer is no text.
fn documented(page: &str) -> Vec<(String, Option<String>)> {
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let asked: Vec<_> = rows
        .map(|row| {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let code = |cell: &str| {
                let code = cell.strip_prefix('`')?.strip_suffix('`')?;
                Some(code.to_owned())
            };
            (code(cells[1]).unwrap(), code(cells[2]))
        })
        .collect();
    assert!(asked.len() > 10);
    asked
}

/// The tree of the documentation.
fn tree() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/queries.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, json) = page.split_once("```json\n").unwrap();
    json.split_once("```").unwrap().0.to_owned()
}

#[test]
fn a_server_answers_what_the_documentation_asks() {
    let desk = shared().desk();
    std::fs::write(desk.path().join("tree.json"), tree()).unwrap();
    let server = Server::start(desk.path(), &["--store", "store"]);
    let send = ["send", "day.tsbc", "--to", &server.url];
    tfhe_sbc(desk.path(), &send).succeeded();

    let asked = documented(&page().0);
    assert!(asked.len() > 25);
    let mut query = vec!["query", "--to", &server.url, "--out", "out.tsbc"];
    query.extend(["--columns", "columns.toml"]);
    query.extend(asked.iter().map(|(question, _)| question.as_str()));
    let said = tfhe_sbc(desk.path(), &query).succeeded().stderr;
    assert!(said.contains("answered with"), "{said}");

    let decrypted = tfhe_sbc(desk.path(), &["decrypt", "out.tsbc"]).succeeded();
    let text = packed(decrypted.text());
    for (question, answer) in &asked {
        // The server does not repeat encrypted thresholds, and words are in their order.
        let Some(answer) = answer else { continue };
        let question = match question.split_once("encrypted(") {
            Some((_, rest)) => format!("…){}", rest.split_once(')').unwrap().1),
            None if question.contains('<') && question.contains("10 *") => ")".to_owned(),
            None => question.clone(),
        };
        let both = packed(&format!("{question}{answer}"));
        assert!(text.contains(&both), "{both} in\n{}", decrypted.text());
    }
    let histogram = "[0,10)1████████████████[10,20)2████████████████████████████████[20,64)1";
    assert!(text.contains(histogram), "{}", decrypted.text());

    let count = ["eval", "--count", "--json", "--readings", "day.tsbc"];
    let questions: Vec<&str> = asked
        .iter()
        .map(|(question, _)| question.as_str())
        .collect();
    let counted = tfhe_sbc(desk.path(), &[&count[..], &questions].concat()).succeeded();
    let counted = counted.json();
    let result = tfhe_sbc(desk.path(), &["decrypt", "--json", "out.tsbc"]).succeeded();
    let result = result.json();
    assert_eq!(counted["together"]["bootstraps"], result["bootstraps"]);
    assert_eq!(counted["questions"].as_array().unwrap().len(), asked.len());
    assert_eq!(result["answers"][3]["answer"]["row"], "13:00");
    assert_eq!(result["answers"][3]["answer"]["value"], -2.0);
}

#[test]
fn a_server_answers_what_the_documentation_asks_about_missing_values() {
    answers_about_missing_values("true");
}

#[test]
fn a_server_that_knows_the_gaps_answers_the_same() {
    answers_about_missing_values("\"clear\"");
}

/// Asks the documentation's questions about its table whose columns are optional in this way.
fn answers_about_missing_values(optional: &str) {
    let is_told = optional != "true";
    let desk = shared().desk();
    let (_, part) = page();
    let block = |kind: &str| {
        let (_, rest) = part.split_once(&format!("```{kind}\n")).unwrap();
        rest.split_once("```").unwrap().0.to_owned()
    };
    let columns = block("toml");
    assert!(columns.contains("optional = true"));
    let columns = columns.replace("optional = true", &format!("optional = {optional}"));
    std::fs::write(desk.path().join("gaps.toml"), columns).unwrap();
    std::fs::write(desk.path().join("gaps.csv"), block("csv")).unwrap();
    let encrypt = ["encrypt", "gaps.csv", "--columns", "gaps.toml"];
    let encrypt = [&encrypt[..], &["--out", "gaps.tsbc"]].concat();
    let said = tfhe_sbc(desk.path(), &encrypt).succeeded().stderr;
    assert!(
        said.contains("optional, so readings may be missing"),
        "{said}"
    );
    let inspected = tfhe_sbc(desk.path(), &["inspect", "gaps.tsbc"]).succeeded();
    let text = inspected.text();
    let by = match is_told {
        true => "optional: readings may be missing, told in clear",
        false => "optional: readings may be missing, told by flags",
    };
    assert!(text.contains(by), "{text}");

    let server = Server::start(desk.path(), &["--store", "store"]);
    let send = ["send", "gaps.tsbc", "--to", &server.url];
    tfhe_sbc(desk.path(), &send).succeeded();
    let asked = documented(&part);
    let mut query = vec!["query", "--to", &server.url, "--out", "out.tsbc"];
    query.extend(asked.iter().map(|(question, _)| question.as_str()));
    tfhe_sbc(desk.path(), &query).succeeded();
    let decrypted = tfhe_sbc(desk.path(), &["decrypt", "out.tsbc"]).succeeded();
    let text = packed(decrypted.text());
    for (question, answer) in &asked {
        let both = packed(&format!("{question}{}", answer.as_ref().unwrap()));
        assert!(text.contains(&both), "{both} in\n{}", decrypted.text());
    }
    let count = ["eval", "--count", "--json", "--readings", "gaps.tsbc"];
    let questions = asked.iter().map(|(question, _)| question.as_str());
    let count: Vec<&str> = count.into_iter().chain(questions).collect();
    let counted = tfhe_sbc(desk.path(), &count).succeeded().json();
    let result = tfhe_sbc(desk.path(), &["decrypt", "--json", "out.tsbc"]).succeeded();
    let result = result.json();
    assert_eq!(counted["together"]["bootstraps"], result["bootstraps"]);
    assert_eq!(result["answers"][0]["missing"], 1);
    let refused = [
        "eval",
        "--count",
        "--sanitise",
        "public.tsbc",
        "--readings",
        "gaps.tsbc",
        "median(level)",
    ];
    let sanitised = tfhe_sbc(desk.path(), &refused);
    match is_told {
        true => drop(sanitised.succeeded()),
        false => sanitised.refused(&["'level' cannot be sanitised"]),
    }

    // The readings come back with their gaps.
    let get = [
        "readings",
        "get",
        "--to",
        &server.url,
        "--decrypt",
        "keys/secret.tsbc",
    ];
    let table = tfhe_sbc(desk.path(), &get).succeeded();
    assert!(table.text().contains(",11:00,,3\n"), "{}", table.text());
    assert!(table.text().contains(",12:00,0.5,\n"), "{}", table.text());
    let said = &table.stderr;
    assert!(
        said.contains("2 cells are empty because the readings are missing"),
        "{said}"
    );
    let json = [&get[..], &["--format", "jsonl"]].concat();
    let table = tfhe_sbc(desk.path(), &json).succeeded();
    assert!(table.text().contains("\"level\":null"), "{}", table.text());
}

#[test]
fn a_server_refuses_what_costs_too_much() {
    let desk = shared().desk();
    let server = Server::start(desk.path(), &["--store", "store", "--max-bootstraps", "20"]);
    let send = ["send", "day.tsbc", "--to", &server.url];
    tfhe_sbc(desk.path(), &send).succeeded();
    let query = ["query", "--to", &server.url, "--columns", "columns.toml"];
    let ask = |question| tfhe_sbc(desk.path(), &[&query[..], &[question]].concat());
    ask("count(level > 1)").succeeded();
    ask("sort(flow)").refused(&[
        "more than the 20 of one query",
        "eval --count",
        "--max-boot",
    ]);
    let eval = [
        "eval",
        "--readings",
        "day.tsbc",
        "--columns",
        "columns.toml",
    ];
    let eval = [&eval[..], &["--max-bootstraps", "20", "sort(flow)"]].concat();
    tfhe_sbc(desk.path(), &eval).refused(&["more than the 20 of one query"]);
}

#[test]
fn the_count_needs_no_key_and_predicts_a_time_with_one() {
    let desk = tempfile::tempdir().unwrap();
    std::fs::copy(
        shared().directory.join("day.tsbc"),
        desk.path().join("day.tsbc"),
    )
    .unwrap();
    let count = ["eval", "--count", "--readings", "day.tsbc", "median(flow)"];
    let counted = tfhe_sbc(desk.path(), &count).succeeded();
    for words in ["median(flow)", "all together", "one after the other"] {
        assert!(counted.text().contains(words), "{}", counted.text());
    }
    let key = shared().directory.join("keys/server.tsbc");
    let measure = ["--measure", "--json", "--key", key.to_str().unwrap()];
    let measured = tfhe_sbc(desk.path(), &[&count[..], &measure].concat()).succeeded();
    let together = &measured.json()["together"];
    let bootstraps = together["bootstraps"].as_f64().unwrap();
    let seconds = together["seconds"].as_f64().unwrap();
    assert!(
        seconds > bootstraps * 1e-5 && seconds < bootstraps,
        "{together}"
    );

    let refused = |question: &str, words: &[&str]| {
        let count = ["eval", "--count", "--readings", "day.tsbc", question];
        tfhe_sbc(desk.path(), &count).refused(words);
    };
    refused(
        "max(levle)",
        &["no column 'levle'", "did you mean 'level'?"],
    );
    refused("top_k(level, 5)", &["top_k of 5 rows: there are 4"]);
}

#[test]
fn histograms_are_drawn() {
    let desk = shared().desk();
    let eval = [
        "eval",
        "--readings",
        "day.tsbc",
        "--columns",
        "columns.toml",
    ];
    let asked = ["--out", "out.tsbc", "histogram(level, -2, 0, 2)"];
    tfhe_sbc(desk.path(), &[&eval[..], &asked].concat()).succeeded();
    let plot = ["decrypt", "out.tsbc", "--plot", "picture.svg"];
    let decrypted = tfhe_sbc(desk.path(), &plot).succeeded();
    assert!(
        decrypted.text().contains("in no bin"),
        "{}",
        decrypted.text()
    );
    let picture = std::fs::read_to_string(desk.path().join("picture.svg")).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains("histogram(level, -2, 0, 2)"));
    let plot = ["decrypt", "result.tsbc", "--plot", "other.svg"];
    tfhe_sbc(desk.path(), &plot).refused(&["no histogram among the answers"]);
    assert!(!desk.path().join("other.svg").exists());
}
