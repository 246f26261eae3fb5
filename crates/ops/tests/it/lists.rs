//! Operations on lists.

use toolcrib_ops::OpError;
use toolcrib_ops::lists::{
    self, ChangeListRequest, DeleteListRequest, ListAction, ListHistoryRequest, ListListsRequest,
    ShowListRequest, UndoListRequest,
};

use crate::fixture::Fixture;

fn change(action: ListAction, items: &[&str]) -> ChangeListRequest {
    ChangeListRequest {
        name: Some("shopping".to_owned()),
        action,
        items: items.iter().map(|item| (*item).to_owned()).collect(),
        new_name: None,
    }
}

fn named() -> Option<String> {
    Some("shopping".to_owned())
}

#[tokio::test]
async fn items_are_added_checked_and_taken_back() {
    let fixture = Fixture::new().await;
    let ctx = fixture.ctx();
    lists::change(&ctx, change(ListAction::Create, &["oats"])).await.unwrap();
    let added = lists::change(&ctx, change(ListAction::Add, &["oats", "milk"])).await.unwrap();
    assert_eq!((added.changed, added.already), (vec!["milk".to_owned()], vec!["oats".to_owned()]));
    let checked = lists::change(&ctx, change(ListAction::Check, &["milk", "tea"])).await.unwrap();
    assert_eq!((checked.list.open, checked.list.checked), (1, 1));
    assert_eq!(checked.missing, ["tea"]);
    let undone = lists::undo(&ctx, UndoListRequest { name: named() }).await.unwrap();
    assert_eq!(undone.lists[0].open, 2);
    let show = ShowListRequest { name: named() };
    let seen = lists::show(&fixture.ctx_of(fixture.viewer()), show.clone()).await.unwrap();
    assert_eq!((seen.items, seen.open), (None, 2));
    let foreign = lists::show(&fixture.ctx_of(fixture.other_owner()), show).await.unwrap_err();
    assert!(matches!(foreign, OpError::NotFound { .. }), "{foreign:?}");
}

#[tokio::test]
async fn a_deleted_list_comes_back_and_its_history_is_for_those_who_see_texts() {
    let fixture = Fixture::new().await;
    let ctx = fixture.ctx();
    lists::change(&ctx, change(ListAction::Create, &["oats"])).await.unwrap();
    lists::delete(&ctx, DeleteListRequest { name: "shopping".to_owned() }).await.unwrap();
    assert_eq!(lists::list(&ctx, ListListsRequest).await.unwrap(), []);
    lists::undo(&ctx, UndoListRequest::default()).await.unwrap();
    assert_eq!(lists::list(&ctx, ListListsRequest).await.unwrap()[0].name, "shopping");
    let request = ListHistoryRequest { name: named(), since: None };
    let history = lists::history(&ctx, request.clone()).await.unwrap();
    assert!(!history.changes.is_empty() && history.changes[0].by == "ann", "{history:?}");
    let denied = lists::history(&fixture.ctx_of(fixture.viewer()), request).await.unwrap_err();
    assert!(matches!(denied, OpError::Denied(_)), "{denied:?}");
}

#[tokio::test]
async fn a_change_without_a_name_is_invalid() {
    let fixture = Fixture::new().await;
    let create = ChangeListRequest { name: None, ..change(ListAction::Create, &[]) };
    let rename = change(ListAction::Rename, &[]);
    for request in [create, rename] {
        let error = lists::change(&fixture.ctx(), request).await.unwrap_err();
        assert!(matches!(error, OpError::Invalid(_)), "{error:?}");
    }
}
