use std::sync::Arc; use std::time::Instant;
use serde_json::json;
use toolcrib_core::*; use toolcrib_providers::{*, chat::*, model::*, quirks::*, watch::Watcher};
fn main(){
  let answer = |n:usize| { let mut a = CallAnswer::not_run(CallId::fresh(), "x"); a.is_error=false; a.wire=json!({"status":"success","result":"line of text \"quoted\"\n".repeat(n/20)}); a };
  for (server, body) in [
    (Server::OpenaiChat, json!({"choices":[{"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[{"id":"a1","type":"function","function":{"name":"look","arguments":"{\"path\":\"notes.md\"}"}}]}}]})),
    (Server::OpenaiResponses, json!({"object":"response","status":"completed","output":[{"type":"function_call","id":"fc","call_id":"a1","name":"look","arguments":"{}"}]})),
    (Server::Anthropic, json!({"type":"message","role":"assistant","content":[{"type":"tool_use","id":"a1","name":"look","input":{"path":"notes.md"}}]})),
    (Server::Gemini, json!({"candidates":[{"finishReason":"STOP","content":{"role":"model","parts":[{"functionCall":{"name":"look","args":{"path":"x"}},"thoughtSignature":"aaaa"}]}}]})),
  ] {
    let d = Dialect::new(server);
    let bytes = body.to_string();
    for (rounds, size) in [(1,200),(15,200),(15,20000)] {
      let mut messages = vec![Arc::new(Message::User(UserMessage{text:"Do it.".into(),..Default::default()}))];
      for i in 0..rounds { let mut turn = parse(d.format, bytes.as_bytes()).unwrap();
        let id=format!("id{i}"); let s=serde_json::to_string(&turn).unwrap().replace("\"a1\"",&format!("\"{id}\"")); turn=serde_json::from_str(&s).unwrap();
        let mut m = ModelMessage::new(turn,"here","m"); m.answer(0, answer(size)); messages.push(Arc::new(Message::Model(Box::new(m)))); }
      let tools: Vec<_> = (0..50).map(|i| json!({"type":"function","name":format!("t{i}"),"description":"A tool of some kind that does things.","parameters":{"type":"object","properties":{"a":{"type":"string","description":"An argument."},"b":{"type":"integer"}},"required":["a"]}})).collect();
      let req = ModelRequest{system:"You are helpful. ".repeat(100),messages,tools:Some(Arc::new(Declarations{value:tools.into(),warnings:vec![],names:NameMap::default()})),temperature:None,max_output:None,stream:true};
      let info = ModelInfo{provider:"here".into(),model:"m".into(),format:d.format,scripted:false,on_device:false};
      let n=500; let mut len=0; let mut best=f64::MAX;
      for _ in 0..n { let t=Instant::now(); len=std::hint::black_box(request::write(&info,&d,&req)).len(); best=best.min(t.elapsed().as_secs_f64()); }
      println!("{server:?} rounds {rounds} result {size}: {len} bytes, best {:.1} us", best*1e6);
    }
  }
  // watcher
  let chunks: Vec<String> = (0..20).map(|i| format!("data: {}\n\n", json!({"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":format!("word{i} ")},"finish_reason":null}]}))).chain([format!("data: {}\n\n", json!({"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]})), "data: [DONE]\n\n".into()]).collect();
  let (mut bf, mut bp)=(f64::MAX,f64::MAX);
  for _ in 0..1000 { let mut w=Watcher::new(Format::OpenAiChat,false); let t=Instant::now(); for c in &chunks { w.feed(c.as_bytes(), &mut |d| {std::hint::black_box(d);}); } bf=bf.min(t.elapsed().as_secs_f64()); let t=Instant::now(); std::hint::black_box(w.finish().unwrap()); bp=bp.min(t.elapsed().as_secs_f64()); }
  println!("watch 22 chunks: feed {:.1} us, finish {:.1} us", bf*1e6, bp*1e6);
}
