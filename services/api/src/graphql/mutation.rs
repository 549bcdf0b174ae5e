//! The root of all writing.
//!
//! Each mutation checks who asks, turns its input into an order, and tells what became of it. What
//! is wrong with an input is data of the payload; errors are for callers who may not do it, and
//! for faults.

use std::future::Future;
use std::sync::Arc;

use async_graphql::{Context, Object};
use vitrine_domain::admin::MutationRequest;
use vitrine_domain::outcome::Outcome;
use vitrine_domain::products::ProductView;
use vitrine_domain::reviewing::Reviewed;
use vitrine_domain::{Catalog, DomainError};
use vitrine_model::id::{AuthorId, ProductId, Subject};
use vitrine_model::spec;

use super::context::ContextExt as _;
use super::inputs::activity::RecordActivityInput;
use super::inputs::dictionary::{
    DefineSpecKeyInput, DefineUnitInput, MergeSpecKeysInput, UpdateSpecKeyInput,
};
use super::inputs::product::{
    ArchiveProductInput, CreateProductInput, RestoreProductInput, UpdateProductInput,
};
use super::inputs::reference::{
    CreateCategoryInput, CreateSupplierInput, UpdateCategoryInput, UpdateSupplierInput,
};
use super::inputs::review::{
    DeleteReviewInput, EditReviewInput, ModerateReviewInput, RemoveVoteInput, ReplyToReviewInput,
    ReportReviewInput, SubmitReviewInput, VoteReviewInput,
};
use super::inputs::reviewing::{
    DefineReviewDimensionsInput, EraseAuthorInput, RecordPurchaseInput, RepairRatingStatsInput,
};
use super::inputs::spec::{RemoveSpecsInput, SetSpecsInput};
use super::inputs::user_errors::Asked;
use super::types::activity::RecordActivityPayload;
use super::types::category::Category;
use super::types::payload::{
    ArchiveProductPayload, CreateCategoryPayload, CreateProductPayload, CreateSupplierPayload,
    DefineSpecKeyPayload, DefineUnitPayload, Merge, MergeSpecKeysPayload, RemoveSpecsPayload,
    Reply, RestoreProductPayload, SetSpecsPayload, UpdateCategoryPayload, UpdateProductPayload,
    UpdateSpecKeyPayload, UpdateSupplierPayload,
};
use super::types::product::Product;
use super::types::review::Review;
use super::types::reviewing::{
    DefineReviewDimensionsPayload, DeleteReviewPayload, EditReviewPayload, EraseAuthorPayload,
    ModerateReviewPayload, RecordPurchasePayload, RemoveVotePayload, RepairRatingStatsPayload,
    ReplyToReviewPayload, ReportReviewPayload, SubmitReviewPayload, VoteReviewPayload, Written,
};
use super::types::spec::{SpecKey, Unit};
use super::types::supplier::Supplier;
use super::viewer::Viewer;
use crate::execution::{At as _, Failure, R};

/// The root of all writing.
#[derive(Clone, Copy, Debug)]
pub struct Mutation;

/// The root of all writing. Mutations run one after the other, in the order of the document, at
/// most 5 in a request. Those for shoppers, moderators and services say so; all others need the role
/// admin. A mutation either does everything it was asked to or, with `userErrors`, nothing.
#[Object]
impl Mutation {
    /// Makes a product.
    async fn create_product(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The product.")] input: CreateProductInput,
    ) -> R<CreateProductPayload> {
        let done = give(ctx, input.asked(), |catalog, order, new| async move {
            catalog.create_product(order, new).await
        });
        product(done.await).map(Into::into).at(ctx)
    }

    /// Changes what a product says of itself; its specs apart.
    async fn update_product(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The product and what changes.")] input: UpdateProductInput,
    ) -> R<UpdateProductPayload> {
        let done = give(
            ctx,
            input.asked(),
            |catalog, order, (id, patch)| async move { catalog.update_product(order, id, patch).await },
        );
        product(done.await).map(Into::into).at(ctx)
    }

    /// Sets specs of a product and leaves its others alone. A key that nobody has seen can be
    /// filtered by in the next request.
    async fn set_specs(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The product and the specs.")] input: SetSpecsInput,
    ) -> R<SetSpecsPayload> {
        let done = give(
            ctx,
            input.asked(),
            |catalog, order, (id, specs)| async move { catalog.set_specs(order, id, specs).await },
        );
        product(done.await).map(Into::into).at(ctx)
    }

    /// Takes specs from a product.
    async fn remove_specs(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The product and the specs.")] input: RemoveSpecsInput,
    ) -> R<RemoveSpecsPayload> {
        let done = give(
            ctx,
            input.asked(),
            |catalog, order, (id, refs)| async move { catalog.remove_specs(order, id, refs).await },
        );
        product(done.await).map(Into::into).at(ctx)
    }

    /// Takes a product off sale for good. It keeps its address, and admins still see it.
    async fn archive_product(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The product.")] input: ArchiveProductInput,
    ) -> R<ArchiveProductPayload> {
        let done = give(ctx, input.asked(), |catalog, order, id| async move {
            catalog.set_archived(order, id, true).await
        });
        product(done.await).map(Into::into).at(ctx)
    }

    /// Brings an archived product back on sale.
    async fn restore_product(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The product.")] input: RestoreProductInput,
    ) -> R<RestoreProductPayload> {
        let done = give(ctx, input.asked(), |catalog, order, id| async move {
            catalog.set_archived(order, id, false).await
        });
        product(done.await).map(Into::into).at(ctx)
    }

    /// Makes a category.
    async fn create_category(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The category.")] input: CreateCategoryInput,
    ) -> R<CreateCategoryPayload> {
        let done = give(ctx, input.asked(), |catalog, order, new| async move {
            catalog.create_category(order, new).await
        });
        category(ctx, done.await).await.map(Into::into).at(ctx)
    }

    /// Renames or moves a category.
    async fn update_category(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The category and what changes.")] input: UpdateCategoryInput,
    ) -> R<UpdateCategoryPayload> {
        let done = give(
            ctx,
            input.asked(),
            |catalog, order, (id, patch)| async move { catalog.update_category(order, id, patch).await },
        );
        category(ctx, done.await).await.map(Into::into).at(ctx)
    }

    /// Makes a supplier.
    async fn create_supplier(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The supplier.")] input: CreateSupplierInput,
    ) -> R<CreateSupplierPayload> {
        let done = give(ctx, input.asked(), |catalog, order, new| async move {
            catalog.create_supplier(order, new).await
        });
        shown(done.await, Supplier).map(Into::into).at(ctx)
    }

    /// Changes a supplier. Its products carry the new name and country a little later.
    async fn update_supplier(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The supplier and what changes.")] input: UpdateSupplierInput,
    ) -> R<UpdateSupplierPayload> {
        let done = give(
            ctx,
            input.asked(),
            |catalog, order, (id, patch)| async move { catalog.update_supplier(order, id, patch).await },
        );
        shown(done.await, Supplier).map(Into::into).at(ctx)
    }

    /// Defines a unit of measure.
    async fn define_unit(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The unit.")] input: DefineUnitInput,
    ) -> R<DefineUnitPayload> {
        let done = give(ctx, input.asked(), |catalog, order, unit| async move {
            catalog.define_unit(order, unit).await
        });
        shown(done.await, Unit::from).map(Into::into).at(ctx)
    }

    /// Defines a spec key before products have it.
    async fn define_spec_key(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The key.")] input: DefineSpecKeyInput,
    ) -> R<DefineSpecKeyPayload> {
        let done = give(ctx, input.asked(), |catalog, order, new| async move {
            catalog.define_spec_key(order, new).await
        });
        shown(done.await, spec_key).map(Into::into).at(ctx)
    }

    /// Changes a spec key.
    async fn update_spec_key(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The key and what changes.")] input: UpdateSpecKeyInput,
    ) -> R<UpdateSpecKeyPayload> {
        let done = give(
            ctx,
            input.asked(),
            |catalog, order, (key, patch)| async move {
                catalog.update_spec_key(order, key, patch).await
            },
        );
        shown(done.await, spec_key).map(Into::into).at(ctx)
    }

    /// Makes two spec keys one. Both names mean the same from then on.
    async fn merge_spec_keys(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The two keys.")] input: MergeSpecKeysInput,
    ) -> R<MergeSpecKeysPayload> {
        let done = give(
            ctx,
            input.asked(),
            |catalog, order, (from, into)| async move {
                catalog.merge_spec_keys(order, from, into).await
            },
        );
        shown(done.await, Merge::from).map(Into::into).at(ctx)
    }

    /// Writes what the caller says of a product. Needs the role shopper; the author is the subject
    /// of the token. One review per author and product: the answer to a second one is
    /// `ALREADY_REVIEWED` with the first, unless that was deleted or rejected.
    async fn submit_review(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The product and the review.")] input: SubmitReviewInput,
    ) -> R<SubmitReviewPayload> {
        let asked = input.asked();
        let of = product_in(&asked, |(product, _)| *product);
        let done = give_as(
            Viewer::shopper,
            ctx,
            asked,
            |catalog, order, (product, content)| async move {
                let key = order.idempotency_key;
                let author = &order.subject;
                catalog.submit_review(author, key, product, content).await
            },
        );
        written(of, done.await).map(SubmitReviewPayload).at(ctx)
    }

    /// Changes the caller's own review. Needs the role shopper. It keeps its votes; one that was
    /// rejected waits for a moderator again.
    async fn edit_review(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The review and what changes.")] input: EditReviewInput,
    ) -> R<EditReviewPayload> {
        let asked = input.asked();
        let of = product_in(&asked, |(key, _, _)| key.0);
        let done = give_as(
            Viewer::shopper,
            ctx,
            asked,
            |catalog, order, (key, expected, patch)| async move {
                let author = &order.subject;
                catalog.edit_review(author, key, expected, patch).await
            },
        );
        written(of, done.await).map(EditReviewPayload).at(ctx)
    }

    /// Takes back the caller's own review. Needs the role shopper. Doing it twice changes nothing.
    async fn delete_review(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The review.")] input: DeleteReviewInput,
    ) -> R<DeleteReviewPayload> {
        let asked = input.asked();
        let of = product_in(&asked, |key| key.0);
        let done = give_as(
            Viewer::shopper,
            ctx,
            asked,
            |catalog, order, key| async move {
                let expected = order.expected_revision;
                catalog.delete_review(&order.subject, key, expected).await
            },
        );
        written(of, done.await).map(DeleteReviewPayload).at(ctx)
    }

    /// Says whether somebody else's review helps. Needs the role shopper. Saying it twice changes
    /// nothing.
    async fn vote_review(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The review and the vote.")] input: VoteReviewInput,
    ) -> R<VoteReviewPayload> {
        let done = give_as(
            Viewer::shopper,
            ctx,
            input.asked(),
            |catalog, order, (key, vote)| async move {
                catalog.vote_review(&order.subject, key, Some(vote)).await
            },
        );
        shown(done.await, Review::from).map(Into::into).at(ctx)
    }

    /// Takes back the caller's vote. Needs the role shopper. Without a vote nothing changes.
    async fn remove_vote(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The review.")] input: RemoveVoteInput,
    ) -> R<RemoveVotePayload> {
        let done = give_as(
            Viewer::shopper,
            ctx,
            input.asked(),
            |catalog, order, key| async move { catalog.vote_review(&order.subject, key, None).await },
        );
        shown(done.await, Review::from).map(Into::into).at(ctx)
    }

    /// Tells moderators that something is wrong with a review. Needs the role shopper. Once per
    /// reader, until a moderator has decided.
    async fn report_review(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The review and what is wrong with it.")] input: ReportReviewInput,
    ) -> R<ReportReviewPayload> {
        let done = give_as(
            Viewer::shopper,
            ctx,
            input.asked(),
            |catalog, order, (key, reason, note)| async move {
                let reader = &order.subject;
                catalog.report_review(reader, key, reason, note).await
            },
        );
        shown(done.await, Review::from).map(Into::into).at(ctx)
    }

    /// Decides over a review. Needs the role moderator or admin. Every decision is logged.
    async fn moderate_review(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The review and the decision.")] input: ModerateReviewInput,
    ) -> R<ModerateReviewPayload> {
        let asked = input.asked();
        let of = product_in(&asked, |(key, _)| key.0);
        let done = give_as(
            Viewer::moderator,
            ctx,
            asked,
            |catalog, order, (key, judgement)| async move {
                catalog
                    .moderate_review(&order.subject, key, judgement)
                    .await
            },
        );
        written(of, done.await).map(ModerateReviewPayload).at(ctx)
    }

    /// Answers a review in public, replaces the answer, or takes it back. Needs the role moderator
    /// or admin.
    async fn reply_to_review(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The review and the answer.")] input: ReplyToReviewInput,
    ) -> R<ReplyToReviewPayload> {
        let done = give_as(
            Viewer::moderator,
            ctx,
            input.asked(),
            |catalog, order, (key, text, expected)| async move {
                catalog
                    .reply_to_review(&order.subject, key, text, expected)
                    .await
            },
        );
        let review = |done: Reviewed| done.review.into();
        shown::<_, Review>(done.await, review)
            .map(Into::into)
            .at(ctx)
    }

    /// Records that a customer bought a product, so that their review of it is a buyer's. Needs the
    /// role service or admin. Doing it twice changes nothing.
    async fn record_purchase(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The purchase.")] input: RecordPurchaseInput,
    ) -> R<RecordPurchasePayload> {
        let asked = input.asked();
        let of = product_in(&asked, |purchase| purchase.product);
        let done = give_as(
            Viewer::service,
            ctx,
            asked,
            |catalog, _, purchase| async move { catalog.record_purchase(purchase).await },
        );
        let done = done.await;
        done.and_then(|outcome| RecordPurchasePayload::of(of, outcome))
            .at(ctx)
    }

    /// Tells what happened around products: up to 500 views and carts at once, counted in memory and
    /// written a second later, so that no page waits for it. Anybody may; no token is needed.
    async fn record_activity(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "What happened.")] input: RecordActivityInput,
    ) -> R<RecordActivityPayload> {
        record_activity(ctx, input).await.at(ctx)
    }

    /// Takes an author out of reviews, the copies of them, earlier versions, votes, replies, reports
    /// and purchases. When it is cut off, workers complete it.
    async fn erase_author(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The author and what becomes of what they wrote.")]
        input: EraseAuthorInput,
    ) -> R<EraseAuthorPayload> {
        let done = give(
            ctx,
            input.asked(),
            |catalog, order, (author, policy)| async move {
                let by = Subject(&order.subject);
                catalog.erase_author(by, AuthorId(author), policy).await
            },
        );
        shown(done.await, |erased| erased).map(Into::into).at(ctx)
    }

    /// Counts the reviews of a product anew and makes its rating numbers what they say.
    async fn repair_rating_stats(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The product.")] input: RepairRatingStatsInput,
    ) -> R<RepairRatingStatsPayload> {
        let asked = input.asked();
        let of = product_in(&asked, |product| *product);
        let done = give(ctx, asked, |catalog, _, product| async move {
            catalog.repair_rating_stats(product).await
        });
        let done = done.await;
        done.and_then(|outcome| RepairRatingStatsPayload::of(of, outcome))
            .at(ctx)
    }

    /// Says by which aspects products of a kind, or in a category and below it, are rated beside
    /// the stars for the whole.
    async fn define_review_dimensions(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which products and which aspects.")] input: DefineReviewDimensionsInput,
    ) -> R<DefineReviewDimensionsPayload> {
        let done = give(
            ctx,
            input.asked(),
            |catalog, order, dimensions| async move {
                catalog.define_review_dimensions(order, dimensions).await
            },
        );
        shown(done.await, |defined| defined).map(Into::into).at(ctx)
    }
}

async fn record_activity(
    ctx: &Context<'_>,
    input: RecordActivityInput,
) -> Result<RecordActivityPayload, Failure> {
    let (events, key) = match input.asked() {
        Ok(asked) => asked,
        Err(refusals) => {
            return Ok(RecordActivityPayload {
                user_errors: refusals.into_iter().map(Into::into).collect(),
                ..RecordActivityPayload::default()
            });
        }
    };
    let counted = ctx.session().catalog.record_activity(&events, key);
    let counted = counted.await?;
    if counted.conflict {
        return Ok(RecordActivityPayload::conflict());
    }
    Ok(counted.into())
}

/// Gives an order of an admin, unless the caller may not or the input is wrong.
async fn give<W, T, F>(
    ctx: &Context<'_>,
    asked: Asked<W>,
    execute: impl FnOnce(Catalog, MutationRequest, W) -> F,
) -> Result<Outcome<T>, Failure>
where
    F: Future<Output = Result<Outcome<T>, DomainError>>,
{
    give_as(Viewer::admin, ctx, asked, execute).await
}

/// Gives an order, unless the caller may not, as `who` says, or the input is wrong.
async fn give_as<W, T, F>(
    who: impl FnOnce(&Viewer) -> Result<&str, Failure>,
    ctx: &Context<'_>,
    asked: Asked<W>,
    execute: impl FnOnce(Catalog, MutationRequest, W) -> F,
) -> Result<Outcome<T>, Failure>
where
    F: Future<Output = Result<Outcome<T>, DomainError>>,
{
    let session = ctx.session();
    let order = MutationRequest {
        subject: who(&session.viewer)?.to_owned(),
        idempotency_key: asked.idempotency_key,
        expected_revision: asked.expected_revision.map(i64::from),
    };
    let wanted = match asked.wanted {
        Ok(wanted) => wanted,
        Err(refusals) => {
            let current = None;
            return Ok(Outcome::Refused { refusals, current });
        }
    };
    let outcome = execute(session.catalog.clone(), order, wanted).await;
    // What the mutations before this one looked up may have changed.
    session.loaders.forget().await;
    outcome.map_err(Failure::from)
}

type Done<T> = Result<Outcome<T>, Failure>;

fn shown<D, T>(done: Done<D>, show: impl FnOnce(D) -> T) -> Result<Reply<T>, Failure> {
    Reply::of(done?, |thing| Ok(show(thing)))
}

fn product(done: Done<ProductView>) -> Result<Reply<Product>, Failure> {
    Reply::of(done?, Product::of)
}

/// The product that an input is about, if it could be read.
fn product_in<W>(asked: &Asked<W>, of: impl FnOnce(&W) -> ProductId) -> Option<ProductId> {
    asked.wanted.as_ref().ok().map(of)
}

fn written(product: Option<ProductId>, done: Done<Reviewed>) -> Result<Written, Failure> {
    Written::of(product, done?)
}

fn spec_key(key: spec::SpecKey) -> SpecKey {
    SpecKey(Arc::new(key))
}

/// A category is shown among those around it as they are now.
async fn category(
    ctx: &Context<'_>,
    done: Done<vitrine_model::category::Category>,
) -> Result<Reply<Category>, Failure> {
    let outcome = done?;
    let id = match &outcome {
        Outcome::Done(category) => Some(category.id),
        Outcome::Refused { current, .. } => current.as_ref().map(|category| category.id),
    };
    let catalog = &ctx.session().catalog;
    let reference = match id {
        // The order was carried out, whether or not its surroundings can be read now.
        Some(id) => catalog
            .reference_for_category(id)
            .await
            .unwrap_or_else(|_| catalog.reference()),
        None => catalog.reference(),
    };
    Reply::of(outcome, |category| Ok(Category::new(&reference, &category)))
}
