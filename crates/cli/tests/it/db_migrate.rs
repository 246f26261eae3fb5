//! `toolcrib db migrate` on the file in the state folder.

use crate::support::TestEnv;

#[test]
fn a_database_file_is_migrated_on_its_own_too() {
    let env = TestEnv::new();
    let said = env.run(&["db", "migrate", "--check"]).code(1).stdout;
    assert!(said.contains("no tables yet"), "{said}");
    let said = env.run(&["db", "migrate"]).code(0).stdout;
    assert!(said.contains("the tables were created"), "{said}");
    let said = env.run(&["db", "migrate", "--check"]).code(0).stdout;
    assert!(said.contains("up to date"), "{said}");
}
