//! The mutation root.
//!
//! Each mutation checks the caller's role, parses its input and returns the outcome as a payload.
//! Errors in the input are part of the payload (`userErrors`). GraphQL errors are for missing
//! permissions and faults.

use std::future::Future;
use std::sync::Arc;

use async_graphql::{Context, Object};
use futures_util::future::BoxFuture;
use vitrine_domain::admin::MutationRequest;
use vitrine_domain::outcome::Outcome;
use vitrine_domain::products::ProductView;
use vitrine_domain::reviewing::Reviewed;
use vitrine_domain::{Catalog, DomainError};
use vitrine_model::id::{AuthorId, ProductId, Subject};
use vitrine_model::spec;

use super::context::ContextExt as _;
use super::inputs::activity::RecordActivityInput;
use super::inputs::bulk::{StartBulkChangeInput, StopBulkChangeInput};
use super::inputs::dictionary::{
    DefineSpecKeyInput, DefineUnitInput, MergeSpecKeysInput, UpdateSpecKeyInput,
};
use super::inputs::import_run::{StartImportInput, StopImportInput};
use super::inputs::product::{
    ArchiveProductInput, CreateProductInput, RestoreProductInput, UpdateProductInput,
};
use super::inputs::reference::{
    CreateCategoryInput, CreateSupplierInput, MergeCategoriesInput, UpdateCategoryInput,
    UpdateSupplierInput,
};
use super::inputs::reverts::{
    ReleaseFieldsInput, RevertCategoryInput, RevertProductInput, RevertSpecKeyInput,
};
use super::inputs::review::{
    DeleteReviewInput, EditReviewInput, ModerateReviewInput, RemoveVoteInput, ReplyToReviewInput,
    ReportReviewInput, SubmitReviewInput, VoteReviewInput,
};
use super::inputs::reviewing::{
    DefineReviewDimensionsInput, EraseAuthorInput, RecordPurchaseInput, RepairRatingStatsInput,
};
use super::inputs::spec::{RemoveSpecsInput, SetSpecsInput};
use super::inputs::user_errors::ParsedInput;
use super::permissions;
use super::types::activity::RecordActivityPayload;
use super::types::bulk::BulkChange;
use super::types::category::Category;
use super::types::import_run::{ImportRun, StopImportPayload};
use super::types::payload::{
    ArchiveProductPayload, CreateCategoryPayload, CreateProductPayload, CreateSupplierPayload,
    DefineSpecKeyPayload, DefineUnitPayload, Merge, MergeCategoriesPayload, MergeSpecKeysPayload,
    PayloadParts, ReleaseFieldsPayload, RemoveSpecsPayload, RestoreProductPayload,
    RevertCategoryPayload, RevertProductPayload, RevertSpecKeyPayload, SetSpecsPayload,
    StartBulkChangePayload, StartImportPayload, StopBulkChangePayload, UpdateCategoryPayload,
    UpdateProductPayload, UpdateSpecKeyPayload, UpdateSupplierPayload,
};
use super::types::product::Product;
use super::types::review::Review;
use super::types::reviewing::{
    DefineReviewDimensionsPayload, DeleteReviewPayload, EditReviewPayload, EraseAuthorPayload,
    ModerateReviewPayload, RecordPurchasePayload, RemoveVotePayload, RepairRatingStatsPayload,
    ReplyToReviewPayload, ReportReviewPayload, ReviewOutcome, SubmitReviewPayload,
    VoteReviewPayload,
};
use super::types::spec::{SpecKey, Unit};
use super::types::supplier::Supplier;
use crate::execution::{At as _, Failure, R};

/// The mutation root.
#[derive(Clone, Copy, Debug)]
pub struct Mutation;

/// The mutation root. Mutations run one after the other, in the order of the document, at most 5
/// per request. They need the role admin unless their description names another role. A mutation
/// either does everything that was requested or, with `userErrors`, nothing.
#[Object]
impl Mutation {
    /// Creates a product.
    async fn create_product(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The new product.")] input: CreateProductInput,
    ) -> Option<R<CreateProductPayload>> {
        let done = run_command(ctx, input.parse(), |catalog, request, new| async move {
            catalog.create_product(request, new).await
        });
        product(done.await).map(Into::into).some_at(ctx)
    }

    /// Changes a product, except its specs.
    async fn update_product(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The product and its changes.")] input: UpdateProductInput,
    ) -> Option<R<UpdateProductPayload>> {
        let done = run_command(
            ctx,
            input.parse(),
            |catalog, request, (id, patch)| async move {
                catalog.update_product(request, id, patch).await
            },
        );
        product(done.await).map(Into::into).some_at(ctx)
    }

    /// Sets specs of a product; its other specs stay unchanged. A new spec key can be used in
    /// filters from the next request on.
    async fn set_specs(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The product and the specs to set.")] input: SetSpecsInput,
    ) -> Option<R<SetSpecsPayload>> {
        let done = run_command(
            ctx,
            input.parse(),
            |catalog, request, (id, specs)| async move { catalog.set_specs(request, id, specs).await },
        );
        product(done.await).map(Into::into).some_at(ctx)
    }

    /// Removes specs from a product.
    async fn remove_specs(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The product and the specs to remove.")] input: RemoveSpecsInput,
    ) -> Option<R<RemoveSpecsPayload>> {
        let done = run_command(
            ctx,
            input.parse(),
            |catalog, request, (id, refs)| async move { catalog.remove_specs(request, id, refs).await },
        );
        product(done.await).map(Into::into).some_at(ctx)
    }

    /// Archives a product: takes it off sale until it is restored. It keeps its slug and stays
    /// visible to admins.
    async fn archive_product(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The product to archive.")] input: ArchiveProductInput,
    ) -> Option<R<ArchiveProductPayload>> {
        let done = run_command(ctx, input.parse(), |catalog, request, id| async move {
            catalog.set_archived(request, id, true).await
        });
        product(done.await).map(Into::into).some_at(ctx)
    }

    /// Restores an archived product and puts it back on sale.
    async fn restore_product(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The product to restore.")] input: RestoreProductInput,
    ) -> Option<R<RestoreProductPayload>> {
        let done = run_command(ctx, input.parse(), |catalog, request, id| async move {
            catalog.set_archived(request, id, false).await
        });
        product(done.await).map(Into::into).some_at(ctx)
    }

    /// Restores the content of a product as it was at an earlier revision of its history: all fields
    /// and specs, also status, SKU and slug. Reviews, ratings and counters stay. This makes a new
    /// revision.
    async fn revert_product(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The product and the revision to restore.")] input: RevertProductInput,
    ) -> Option<R<RevertProductPayload>> {
        let done = run_command(
            ctx,
            input.parse(),
            |catalog, request, (id, revision)| async move {
                catalog.revert_product(request, id, revision).await
            },
        );
        product(done.await).map(Into::into).some_at(ctx)
    }

    /// Gives fields that people have edited back to the feeds: they get at once what the feeds say of them, and follow
    /// the feeds from then on. A field of which the feeds say nothing becomes empty, unless every product has it (name,
    /// kind, category, status, SKU). A product without feeds keeps its values.
    async fn release_fields(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The product and the fields.")] input: ReleaseFieldsInput,
    ) -> Option<R<ReleaseFieldsPayload>> {
        let done = run_command(
            ctx,
            input.parse(),
            |catalog, request, (id, fields)| async move {
                catalog.release_fields(request, id, fields).await
            },
        );
        product(done.await).map(Into::into).some_at(ctx)
    }

    /// Starts a bulk change of products: the same change of all that match, made in the background, each
    /// product by itself, after the bulk changes that were started before. A product that no longer matches when its turn comes is left alone. At most
    /// 100,000 products.
    async fn start_bulk_change(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The products and the change.")] input: StartBulkChangeInput,
    ) -> Option<R<StartBulkChangePayload>> {
        let parsed = match input.parse() {
            Ok(parsed) => parsed,
            Err(failure) => return Err(failure).some_at(ctx),
        };
        let done = run_command(ctx, parsed, |catalog, request, new| async move {
            catalog.start_bulk_change(request, new).await
        });
        shown(done.await, BulkChange)
            .map(StartBulkChangePayload::from)
            .some_at(ctx)
    }

    /// Asks a bulk change to stop; it does so within seconds. What it has changed stays. Does nothing
    /// if it has ended.
    async fn stop_bulk_change(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The bulk change to stop.")] input: StopBulkChangeInput,
    ) -> Option<R<StopBulkChangePayload>> {
        let done = run_command(ctx, input.parse(), |catalog, request, id| async move {
            catalog.stop_bulk_change(&request.subject, id).await
        });
        shown(done.await, BulkChange)
            .map(StopBulkChangePayload::from)
            .some_at(ctx)
    }

    /// Creates a category.
    async fn create_category(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The new category.")] input: CreateCategoryInput,
    ) -> Option<R<CreateCategoryPayload>> {
        let done = run_command(ctx, input.parse(), |catalog, request, new| async move {
            catalog.create_category(request, new).await
        });
        category(ctx, done.await).await.map(Into::into).some_at(ctx)
    }

    /// Renames or moves a category.
    async fn update_category(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The category and its changes.")] input: UpdateCategoryInput,
    ) -> Option<R<UpdateCategoryPayload>> {
        let done = run_command(
            ctx,
            input.parse(),
            |catalog, request, (id, patch)| async move {
                catalog.update_category(request, id, patch).await
            },
        );
        category(ctx, done.await).await.map(Into::into).some_at(ctx)
    }

    /// Merges a category into another. Its id, its slug and the words of feeds lead to the other from then
    /// on, and its products and subcategories are the other's. This cannot be undone.
    async fn merge_categories(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The category to merge and the remaining one.")]
        input: MergeCategoriesInput,
    ) -> Option<R<MergeCategoriesPayload>> {
        let done = run_command(
            ctx,
            input.parse(),
            |catalog, request, (from, into)| async move {
                catalog.merge_categories(request, from, into).await
            },
        );
        category(ctx, done.await).await.map(Into::into).some_at(ctx)
    }

    /// Restores name, slug and parent of a category as they were at an earlier revision of its
    /// history. This makes a new revision.
    async fn revert_category(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The category and the revision to restore.")] input: RevertCategoryInput,
    ) -> Option<R<RevertCategoryPayload>> {
        let done = run_command(
            ctx,
            input.parse(),
            |catalog, request, (id, revision)| async move {
                catalog.revert_category(request, id, revision).await
            },
        );
        category(ctx, done.await).await.map(Into::into).some_at(ctx)
    }

    /// Creates a supplier.
    async fn create_supplier(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The new supplier.")] input: CreateSupplierInput,
    ) -> Option<R<CreateSupplierPayload>> {
        let done = run_command(ctx, input.parse(), |catalog, request, new| async move {
            catalog.create_supplier(request, new).await
        });
        shown(done.await, Supplier).map(Into::into).some_at(ctx)
    }

    /// Changes a supplier. The new name and country are copied to its products in the background.
    async fn update_supplier(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The supplier and its changes.")] input: UpdateSupplierInput,
    ) -> Option<R<UpdateSupplierPayload>> {
        let done = run_command(
            ctx,
            input.parse(),
            |catalog, request, (id, patch)| async move {
                catalog.update_supplier(request, id, patch).await
            },
        );
        shown(done.await, Supplier).map(Into::into).some_at(ctx)
    }

    /// Defines a unit of measure.
    async fn define_unit(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The new unit.")] input: DefineUnitInput,
    ) -> Option<R<DefineUnitPayload>> {
        let done = run_command(ctx, input.parse(), |catalog, request, unit| async move {
            catalog.define_unit(request, unit).await
        });
        shown(done.await, Unit::from).map(Into::into).some_at(ctx)
    }

    /// Defines a spec key before any product has it.
    async fn define_spec_key(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The new spec key.")] input: DefineSpecKeyInput,
    ) -> Option<R<DefineSpecKeyPayload>> {
        let done = run_command(ctx, input.parse(), |catalog, request, new| async move {
            catalog.define_spec_key(request, new).await
        });
        shown(done.await, spec_key).map(Into::into).some_at(ctx)
    }

    /// Changes a spec key.
    async fn update_spec_key(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The spec key and its changes.")] input: UpdateSpecKeyInput,
    ) -> Option<R<UpdateSpecKeyPayload>> {
        let done = run_command(
            ctx,
            input.parse(),
            |catalog, request, (key, patch)| async move {
                catalog.update_spec_key(request, key, patch).await
            },
        );
        shown(done.await, spec_key).map(Into::into).some_at(ctx)
    }

    /// Restores a spec key as it was at an earlier revision of its history. A merge is not undone:
    /// names that were merged into the key stay its aliases. This makes a new revision.
    async fn revert_spec_key(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The spec key and the revision to restore.")] input: RevertSpecKeyInput,
    ) -> Option<R<RevertSpecKeyPayload>> {
        let done = run_command(
            ctx,
            input.parse(),
            |catalog, request, (key, revision)| async move {
                catalog.revert_spec_key(request, key, revision).await
            },
        );
        shown(done.await, spec_key).map(Into::into).some_at(ctx)
    }

    /// Merges two spec keys into one. Both names refer to the remaining key from then on.
    async fn merge_spec_keys(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The key to merge and the remaining key.")] input: MergeSpecKeysInput,
    ) -> Option<R<MergeSpecKeysPayload>> {
        let done = run_command(
            ctx,
            input.parse(),
            |catalog, request, (from, into)| async move {
                catalog.merge_spec_keys(request, from, into).await
            },
        );
        shown(done.await, Merge::from).map(Into::into).some_at(ctx)
    }

    /// Submits a review of a product. Needs the role shopper; the author is the subject of the
    /// token. An author can have one review per product: a second one is refused with
    /// `ALREADY_REVIEWED` and returns the first, unless that was deleted or rejected.
    async fn submit_review(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The product and the content of the review.")] input: SubmitReviewInput,
    ) -> Option<R<SubmitReviewPayload>> {
        let input = input.parse();
        let product_id = product_in(&input, |(product, _)| *product);
        let done = run_command(
            ctx,
            input,
            |catalog, request, (product, content)| async move {
                let key = request.idempotency_key;
                let author = &request.subject;
                catalog.submit_review(author, key, product, content).await
            },
        );
        review_outcome(product_id, done.await)
            .map(SubmitReviewPayload)
            .some_at(ctx)
    }

    /// Edits the caller's own review. Needs the role shopper. The review keeps its votes. A
    /// rejected review returns to the moderation queue.
    async fn edit_review(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The review and its changes.")] input: EditReviewInput,
    ) -> Option<R<EditReviewPayload>> {
        let input = input.parse();
        let product_id = product_in(&input, |(key, _, _)| key.0);
        let done = run_command(
            ctx,
            input,
            |catalog, request, (key, expected, patch)| async move {
                let author = &request.subject;
                catalog.edit_review(author, key, expected, patch).await
            },
        );
        review_outcome(product_id, done.await)
            .map(EditReviewPayload)
            .some_at(ctx)
    }

    /// Deletes the caller's own review. Needs the role shopper. Repeating the mutation has no
    /// effect.
    async fn delete_review(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The review to delete.")] input: DeleteReviewInput,
    ) -> Option<R<DeleteReviewPayload>> {
        let input = input.parse();
        let product_id = product_in(&input, |key| key.0);
        let done = run_command(ctx, input, |catalog, request, key| async move {
            let expected = request.expected_revision;
            catalog.delete_review(&request.subject, key, expected).await
        });
        review_outcome(product_id, done.await)
            .map(DeleteReviewPayload)
            .some_at(ctx)
    }

    /// Votes on whether another author's review is helpful. Needs the role shopper. Repeating the
    /// same vote has no effect.
    async fn vote_review(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The review and the vote.")] input: VoteReviewInput,
    ) -> Option<R<VoteReviewPayload>> {
        let done = run_command(
            ctx,
            input.parse(),
            |catalog, request, (key, vote)| async move {
                catalog.vote_review(&request.subject, key, Some(vote)).await
            },
        );
        shown(done.await, Review::from).map(Into::into).some_at(ctx)
    }

    /// Removes the caller's vote. Needs the role shopper. Without a vote it has no effect.
    async fn remove_vote(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The review whose vote to remove.")] input: RemoveVoteInput,
    ) -> Option<R<RemoveVotePayload>> {
        let done = run_command(ctx, input.parse(), |catalog, request, key| async move {
            catalog.vote_review(&request.subject, key, None).await
        });
        shown(done.await, Review::from).map(Into::into).some_at(ctx)
    }

    /// Reports a review to the moderators. Needs the role shopper. A reader can report a review
    /// once until a moderator has decided.
    async fn report_review(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The review and the reason for the report.")] input: ReportReviewInput,
    ) -> Option<R<ReportReviewPayload>> {
        let done = run_command(
            ctx,
            input.parse(),
            |catalog, request, (key, reason, note)| async move {
                let reader = &request.subject;
                catalog.report_review(reader, key, reason, note).await
            },
        );
        shown(done.await, Review::from).map(Into::into).some_at(ctx)
    }

    /// Publishes, rejects or requeues a review. Needs the role moderator or admin. Every decision
    /// is logged.
    async fn moderate_review(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The review and the decision.")] input: ModerateReviewInput,
    ) -> Option<R<ModerateReviewPayload>> {
        let input = input.parse();
        let product_id = product_in(&input, |(key, _)| key.0);
        let done = run_command(
            ctx,
            input,
            |catalog, request, (key, moderation)| async move {
                catalog
                    .moderate_review(&request.subject, key, moderation)
                    .await
            },
        );
        review_outcome(product_id, done.await)
            .map(ModerateReviewPayload)
            .some_at(ctx)
    }

    /// Writes, replaces or removes the shop's public reply to a review. Needs the role moderator or
    /// admin.
    async fn reply_to_review(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The review and the parts.")] input: ReplyToReviewInput,
    ) -> Option<R<ReplyToReviewPayload>> {
        let done = run_command(
            ctx,
            input.parse(),
            |catalog, request, (key, text, expected)| async move {
                catalog
                    .reply_to_review(&request.subject, key, text, expected)
                    .await
            },
        );
        let review = |done: Reviewed| done.review.into();
        shown::<_, Review>(done.await, review)
            .map(Into::into)
            .some_at(ctx)
    }

    /// Records a purchase, so that the customer's review of the product is marked as verified.
    /// Needs the role service or admin. Repeating the mutation has no effect.
    async fn record_purchase(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The purchase.")] input: RecordPurchaseInput,
    ) -> Option<R<RecordPurchasePayload>> {
        let input = input.parse();
        let product_id = product_in(&input, |purchase| purchase.product);
        let done = run_command(ctx, input, |catalog, _, purchase| async move {
            catalog.record_purchase(purchase).await
        });
        let done = done.await;
        done.and_then(|outcome| RecordPurchasePayload::of(product_id, outcome))
            .some_at(ctx)
    }

    /// Records views and carts of products, up to 500 per request. Events are counted in memory and
    /// written about a second later, so that no page load waits for the database. No token is
    /// needed. Of a caller (the subject of the token, or without one the network of the address), one view and one cart
    /// of each product count in an hour. All events count of services, moderators and admins, who report what others do.
    async fn record_activity(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The events.")] input: RecordActivityInput,
    ) -> Option<R<RecordActivityPayload>> {
        record_activity(ctx, input).await.some_at(ctx)
    }

    /// Erases an author from reviews and copies of them, earlier versions, votes, replies, reports,
    /// purchases, uploaded pictures and idempotency records. If the erasure is interrupted,
    /// background workers complete it.
    async fn erase_author(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The author and what to do with the author's reviews.")]
        input: EraseAuthorInput,
    ) -> Option<R<EraseAuthorPayload>> {
        let done = run_command(
            ctx,
            input.parse(),
            |catalog, request, (author, policy)| async move {
                let by = Subject(&request.subject);
                catalog.erase_author(by, AuthorId(author), policy).await
            },
        );
        shown(done.await, |erased| erased)
            .map(Into::into)
            .some_at(ctx)
    }

    /// Starts an import of uploaded files. It runs in the background, after the imports that were started before. Send
    /// each file to `/uploads?name=FILE` with POST: the response has its id. Uploads are kept for a day. Needs the role
    /// admin.
    async fn start_import(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The files and the mapping.")] input: StartImportInput,
    ) -> Option<R<StartImportPayload>> {
        let done = run_command(ctx, input.parse(), |catalog, request, new| async move {
            catalog.start_import(request, new).await
        });
        let now = ctx.session().catalog.now();
        shown(done.await, |run| ImportRun::new(run, now))
            .map(StartImportPayload::from)
            .some_at(ctx)
    }

    /// Asks an import to stop; it does so within seconds, at once if it has not begun, and running it again completes
    /// it. Does nothing if the import has ended. Needs the role admin.
    async fn stop_import(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The import to stop.")] input: StopImportInput,
    ) -> Option<R<StopImportPayload>> {
        let done = run_command(ctx, input.parse(), |catalog, request, id| async move {
            catalog.stop_import(&request.subject, id).await
        });
        let now = ctx.session().catalog.now();
        shown(done.await, |run| ImportRun::new(run, now))
            .map(StopImportPayload::from)
            .some_at(ctx)
    }

    /// Recounts the reviews of a product and corrects its rating numbers.
    async fn repair_rating_stats(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The product to repair.")] input: RepairRatingStatsInput,
    ) -> Option<R<RepairRatingStatsPayload>> {
        let input = input.parse();
        let product_id = product_in(&input, |product| *product);
        let done = run_command(ctx, input, |catalog, _, product| async move {
            catalog.repair_rating_stats(product).await
        });
        let done = done.await;
        done.and_then(|outcome| RepairRatingStatsPayload::of(product_id, outcome))
            .some_at(ctx)
    }

    /// Defines the aspects that reviews may rate in addition to the overall rating, for the
    /// products of a kind or of a category and its subcategories.
    async fn define_review_dimensions(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The kind or category and its aspects.")]
        input: DefineReviewDimensionsInput,
    ) -> Option<R<DefineReviewDimensionsPayload>> {
        let done = run_command(
            ctx,
            input.parse(),
            |catalog, request, dimensions| async move {
                catalog.define_review_dimensions(request, dimensions).await
            },
        );
        shown(done.await, |defined| defined)
            .map(Into::into)
            .some_at(ctx)
    }
}

async fn record_activity(
    ctx: &Context<'_>,
    input: RecordActivityInput,
) -> Result<RecordActivityPayload, Failure> {
    let (events, key) = match input.parse() {
        Ok(parsed) => parsed,
        Err(refusals) => {
            return Ok(RecordActivityPayload {
                user_errors: refusals.into_iter().map(Into::into).collect(),
                ..RecordActivityPayload::default()
            });
        }
    };
    let session = ctx.session();
    let recorder = session.recorder();
    let counted = session.catalog.record_activity(&events, key, &recorder);
    let counted = counted.await?;
    if counted.conflict {
        return Ok(RecordActivityPayload::conflict());
    }
    Ok(counted.into())
}

/// Runs a command if the caller may use the mutation and the input is valid.
async fn run_command<W, T, F>(
    ctx: &Context<'_>,
    input: ParsedInput<W>,
    execute: impl FnOnce(Catalog, MutationRequest, W) -> F,
) -> Result<Outcome<T>, Failure>
where
    F: Future<Output = Result<Outcome<T>, DomainError>> + Send,
{
    let session = ctx.session();
    let request = MutationRequest {
        subject: permissions::subject(ctx, "Mutation")?.to_owned(),
        idempotency_key: input.idempotency_key,
        expected_revision: input.expected_revision.map(i64::from),
    };
    let value = match input.value {
        Ok(value) => value,
        Err(refusals) => {
            let current = None;
            return Ok(Outcome::Refused { refusals, current });
        }
    };
    // Boxed, so that the code of a command is not compiled into the resolvers of all mutations.
    let command: BoxFuture<'_, _> = Box::pin(execute(session.catalog.clone(), request, value));
    let outcome = command.await;
    // The results cached by earlier mutations of the request may be out of date.
    session.loaders.forget().await;
    outcome.map_err(Failure::from)
}

type Done<T> = Result<Outcome<T>, Failure>;

fn shown<D, T>(done: Done<D>, show: impl FnOnce(D) -> T) -> Result<PayloadParts<T>, Failure> {
    PayloadParts::of(done?, |object| Ok(show(object)))
}

fn product(done: Done<ProductView>) -> Result<PayloadParts<Product>, Failure> {
    PayloadParts::of(done?, Product::of)
}

/// Returns the product that an input concerns, if the input is valid.
fn product_in<W>(input: &ParsedInput<W>, of: impl FnOnce(&W) -> ProductId) -> Option<ProductId> {
    input.value.as_ref().ok().map(of)
}

fn review_outcome(
    product: Option<ProductId>,
    done: Done<Reviewed>,
) -> Result<ReviewOutcome, Failure> {
    ReviewOutcome::of(product, done?)
}

fn spec_key(key: spec::SpecKey) -> SpecKey {
    SpecKey(Arc::new(key))
}

/// Converts the outcome of a mutation on a category. The category is shown in the current tree.
async fn category(
    ctx: &Context<'_>,
    done: Done<vitrine_model::category::Category>,
) -> Result<PayloadParts<Category>, Failure> {
    let outcome = done?;
    let id = match &outcome {
        Outcome::Done(category) => Some(category.id),
        Outcome::Refused { current, .. } => current.as_ref().map(|category| category.id),
    };
    let catalog = &ctx.session().catalog;
    let reference = match id {
        // The mutation has succeeded, even if the current tree cannot be read.
        Some(id) => catalog
            .reference_for_category(id)
            .await
            .unwrap_or_else(|_| catalog.reference()),
        None => catalog.reference(),
    };
    PayloadParts::of(outcome, |category| Ok(Category::new(&reference, &category)))
}
