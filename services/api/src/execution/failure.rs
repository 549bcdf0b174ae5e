//! Failures of resolvers, and their conversion to GraphQL errors.

use std::{borrow::Cow, error::Error as StdError, fmt, sync::Arc, time::Duration};

use async_graphql::{ContextBase, Error, PathSegment, QueryPathNode, QueryPathSegment};

use super::ErrorCode;

/// The result of a resolver that can fail.
pub type R<T> = Result<T, Located>;

/// A failure: a code, a message for the client, and optionally a cause for the log.
///
/// Deliberately without `Display`; see [`crate::execution`].
#[derive(Clone, Debug)]
pub struct Failure {
    code: ErrorCode,
    message: Cow<'static, str>,
    retry_after: Option<Duration>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

impl Failure {
    /// Creates a failure with the message that the client receives.
    pub fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            message: message.into(),
            retry_after: None,
            source: None,
        }
    }

    /// Creates a failure for an invalid value sent by the client.
    pub fn bad_input(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorCode::BadUserInput, message)
    }

    /// Creates an internal failure. The client receives a fixed message; the cause is logged once.
    pub fn internal(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::new(ErrorCode::Internal, "").caused_by(cause)
    }

    /// Adds the cause, which is only logged.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(Arc::from(cause.into()));
        self
    }

    /// Sets when the client may retry (`extensions.retryAfter`, in whole seconds).
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// Returns the error code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        self.code
    }

    /// Returns the message for the client; empty for [`ErrorCode::Internal`].
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns how long the client should wait before it retries.
    #[must_use]
    pub fn wait(&self) -> Option<Duration> {
        self.retry_after
    }

    /// Returns the cause, for the log.
    #[must_use]
    pub fn source(&self) -> Option<&(dyn StdError + Send + Sync + 'static)> {
        self.source.as_deref()
    }

    /// Records the path of the field that `ctx` is resolving.
    #[must_use]
    pub fn at<T>(self, ctx: &ContextBase<'_, T>) -> Located {
        Located {
            failure: self,
            path: FieldPath::of(ctx).0,
        }
    }

    /// Records the path of a field.
    #[must_use]
    pub fn at_path(self, path: &FieldPath) -> Located {
        Located {
            failure: self,
            path: path.0.clone(),
        }
    }
}

/// A [`Failure`] with the response path where it happened: the only error type that the library
/// accepts. Created by [`At`], [`Failure::at`] and [`Failure::at_path`].
#[derive(Clone)]
pub struct Located {
    failure: Failure,
    path: Vec<PathSegment>,
}

impl Located {
    /// Returns the failure.
    #[must_use]
    pub fn failure(&self) -> &Failure {
        &self.failure
    }

    /// Returns the full path of response keys and list indices.
    #[must_use]
    pub fn path(&self) -> &[PathSegment] {
        &self.path
    }
}

impl fmt::Debug for Located {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {:?}", self.failure, self.path)
    }
}

/// The engine recovers the `Located` from the source, because the library may change the path.
impl From<Located> for Error {
    fn from(located: Located) -> Self {
        Self {
            message: located.failure.message.clone().into_owned(),
            source: Some(Arc::new(located)),
            extensions: None,
        }
    }
}

/// The response path of a field, for failures that happen after its context is gone, such as in a
/// stream.
#[derive(Clone, Debug)]
pub struct FieldPath(Vec<PathSegment>);

impl FieldPath {
    /// Returns the path of the field that `ctx` is resolving.
    #[must_use]
    pub fn of<T>(ctx: &ContextBase<'_, T>) -> Self {
        Self(ctx.path_node.as_ref().map(path_of).unwrap_or_default())
    }
}

/// Adds the response path to an error.
pub trait At<T> {
    /// Records that the error happened in the field that `ctx` is resolving.
    fn at<C>(self, ctx: &ContextBase<'_, C>) -> R<T>;

    /// Does the same in a nullable field that has a value unless it fails.
    fn some_at<C>(self, ctx: &ContextBase<'_, C>) -> Option<R<T>>
    where
        Self: Sized,
    {
        Some(self.at(ctx))
    }

    /// Records that the error happened in one item of the list that `ctx` is resolving.
    fn item_at<C>(self, ctx: &ContextBase<'_, C>, index: usize) -> R<T>;
}

impl<T, E: Into<Failure>> At<T> for Result<T, E> {
    fn at<C>(self, ctx: &ContextBase<'_, C>) -> R<T> {
        self.map_err(|error| error.into().at(ctx))
    }

    fn item_at<C>(self, ctx: &ContextBase<'_, C>, index: usize) -> R<T> {
        self.map_err(|error| {
            let mut located = error.into().at(ctx);
            located.path.push(PathSegment::Index(index));
            located
        })
    }
}

/// [`At`] for nullable fields: an absent value stays `None`, an error stays in this field.
pub trait NullableAt<T> {
    /// Converts `Result<Option<T>, _>` to the result of a nullable field.
    fn nullable_at<C>(self, ctx: &ContextBase<'_, C>) -> Option<R<T>>;

    /// Does the same for one item of a list of nullable items.
    fn nullable_item_at<C>(self, ctx: &ContextBase<'_, C>, index: usize) -> Option<R<T>>;
}

impl<T, E: Into<Failure>> NullableAt<T> for Result<Option<T>, E> {
    fn nullable_at<C>(self, ctx: &ContextBase<'_, C>) -> Option<R<T>> {
        self.at(ctx).transpose()
    }

    fn nullable_item_at<C>(self, ctx: &ContextBase<'_, C>, index: usize) -> Option<R<T>> {
        self.item_at(ctx, index).transpose()
    }
}

/// Returns the response path that ends with this node.
pub(super) fn path_of(node: &QueryPathNode<'_>) -> Vec<PathSegment> {
    let mut path: Vec<_> = std::iter::once(node)
        .chain(node.parents())
        .map(|node| match node.segment {
            QueryPathSegment::Name(name) => PathSegment::Field(name.to_owned()),
            QueryPathSegment::Index(index) => PathSegment::Index(index),
        })
        .collect();
    path.reverse();
    path
}
