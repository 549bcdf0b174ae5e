//! What resolvers fail with, and the one way it becomes a GraphQL error.

use std::{borrow::Cow, error::Error as StdError, fmt, sync::Arc, time::Duration};

use async_graphql::{ContextBase, Error, PathSegment, QueryPathNode, QueryPathSegment};

use super::ErrorCode;

/// The result of a resolver.
pub type R<T> = Result<T, Located>;

/// Something went wrong: a code, a sentence for the client, and perhaps a cause for the log.
///
/// Deliberately without `Display`, see the module of which this is part.
#[derive(Clone, Debug)]
pub struct Failure {
    code: ErrorCode,
    message: Cow<'static, str>,
    retry_after: Option<Duration>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

impl Failure {
    /// A failure with the sentence that the client reads.
    pub fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            message: message.into(),
            retry_after: None,
            source: None,
        }
    }

    /// A value the client sent cannot be used.
    pub fn bad_input(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorCode::BadUserInput, message)
    }

    /// A fault of ours. The client reads a fixed sentence; the cause goes to the log, once.
    pub fn internal(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::new(ErrorCode::Internal, "").caused_by(cause)
    }

    /// Adds the cause, which only the log sees.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(Arc::from(cause.into()));
        self
    }

    /// Tells the client when to try again (`extensions.retryAfter`, whole seconds).
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// What kind of failure this is.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        self.code
    }

    /// The sentence for the client; empty for [`ErrorCode::Internal`].
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// How long the client should wait before it tries again.
    #[must_use]
    pub fn wait(&self) -> Option<Duration> {
        self.retry_after
    }

    /// The cause, for the log.
    #[must_use]
    pub fn source(&self) -> Option<&(dyn StdError + Send + Sync + 'static)> {
        self.source.as_deref()
    }

    /// Notes the field it happened in.
    #[must_use]
    pub fn at<T>(self, ctx: &ContextBase<'_, T>) -> Located {
        let path = ctx.path_node.as_ref().map(path_of).unwrap_or_default();
        Located {
            failure: self,
            path,
        }
    }

    /// Notes the field it happened in, by its place.
    #[must_use]
    pub fn in_place(self, place: &Place) -> Located {
        Located {
            failure: self,
            path: place.0.clone(),
        }
    }
}

/// A [`Failure`] that knows where in the response it happened: the only one that the library
/// accepts as an error. Made by [`At`] and by [`Failure::at`].
#[derive(Clone)]
pub struct Located {
    failure: Failure,
    path: Vec<PathSegment>,
}

impl Located {
    /// What went wrong.
    #[must_use]
    pub fn failure(&self) -> &Failure {
        &self.failure
    }

    /// The full path of response keys and list indices.
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

/// The engine finds the `Located` again in the source, whatever became of the path.
impl From<Located> for Error {
    fn from(located: Located) -> Self {
        Self {
            message: located.failure.message.clone().into_owned(),
            source: Some(Arc::new(located)),
            extensions: None,
        }
    }
}

/// A place in a response, for what fails later: a stream outlives the context that it began in.
#[derive(Clone, Debug)]
pub struct Place(Vec<PathSegment>);

impl Place {
    /// The field that `ctx` is resolving.
    #[must_use]
    pub fn of<T>(ctx: &ContextBase<'_, T>) -> Self {
        Self(ctx.path_node.as_ref().map(path_of).unwrap_or_default())
    }
}

/// Gives a result of the domain its place in the response.
pub trait At<T> {
    /// The error happened in the field that `ctx` is resolving.
    fn at<C>(self, ctx: &ContextBase<'_, C>) -> R<T>;

    /// The error happened in one item of the list that `ctx` is resolving.
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

/// The same for nullable fields: absence stays `None`, an error stays in this field.
pub trait NullableAt<T> {
    /// Turns `Result<Option<T>, _>` into what a nullable field returns.
    fn nullable_at<C>(self, ctx: &ContextBase<'_, C>) -> Option<R<T>>;

    /// The same for one item of a list of nullable items.
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

/// The response path that ends with this node.
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
