/**
 * Builds the context of the HTTP module from the foundation of a process and its hooks. Separate from the api process,
 * so that tests serve the very same application without Temporal.
 */
import { createAuthenticator } from '../accounts/authenticate.ts';
import { createKeyUse } from '../accounts/key-use.ts';
import { createOpenResponses } from '../accounts/open-responses.ts';
import { createSessions } from '../accounts/sessions.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import { timeOutMs } from '../config/time-outs.ts';
import { compileParse } from '../schema/schema-validation.ts';
import type { HttpContext } from '../http/app/context.ts';
import { createBodyAllowances } from '../http/bodies/body-allowance.ts';
import { createBodyThreads } from '../http/bodies/json-body.ts';
import { createClientAddress } from '../http/app/client-address.ts';
import { createEventStreams } from '../http/streams/event-stream.ts';
import { createImageFetches } from '../text/images.ts';
import { createExpensiveReads, createWaitingResponses } from '../http/middleware/limits.ts';
import { createSessionCookie } from '../http/middleware/session-cookie.ts';
import { UPLOAD_BOUNDS } from '../http/bodies/upload-line.ts';
import type { UploadBounds } from '../http/bodies/upload-line.ts';
import { STREAM_HEAD_MS } from '../http/media-calls/call.ts';
import { createPreviewTurns } from '../limits/media-turns.ts';
import { createLeasedRateLimiter } from '../limits/leased-rate-limiter.ts';
import { createTurns } from '../limits/turns.ts';
import { createPublicKeys } from '../providers/hooks/public-keys.ts';
import { createHookVerifier } from '../providers/hooks/verify-hook.ts';
import { createUploadSlots } from '../objects/uploads.ts';
import { createTaskCreator } from '../tasks/create/create.ts';
import { createBackgroundFeed } from '../text/background/event-log.ts';
import { createTextAnswers } from '../text/answer.ts';
import { createTaskReader } from '../tasks/record/read.ts';
import { createEventFeed } from '../tasks/listing/feed.ts';
import { createPieceFeed } from '../tasks/listing/piece-feed.ts';
import type { Foundation } from './foundation.ts';
import type { TextParts } from './text-parts.ts';
import { createPreviewMaker } from '@darkroom/media/preview';
import { CreateTaskSchema } from '@darkroom/api/tasks/create-task';

/** What the process adds: the hooks from a request to what works on it afterwards. */
type Hooks = Pick<
  HttpContext,
  'wakeLauncher' | 'wakeDueWork' | 'mayClaim' | 'considerRepair' | 'isReady' | 'stopSignal' | 'renderMetrics'
> & {
  /** The clocks of rate limits: by default a monotonic one, and the database's for what processes share. */
  readonly rateClock?: Pick<Parameters<typeof createLeasedRateLimiter>[0], 'now' | 'bucketNow'>;
  /** For tests, which cannot wait as long as our limits. */
  readonly uploadBounds?: Partial<UploadBounds>;
  readonly streamHeadMs?: number | undefined;
};

/** A preview is awaited by a person or a model in the middle of a conversation: beyond this it comes too late. */
const PREVIEW_MS = timeOutMs(20_000);

const MONOTONIC = { now: (): number => performance.timeOrigin + performance.now() };

export function createHttpContext(
  foundation: Foundation,
  catalogue: Catalogue,
  { rateClock, uploadBounds, streamHeadMs = STREAM_HEAD_MS, ...hooks }: Hooks,
  installationId: string,
  text: Pick<TextParts, 'source' | 'threads' | 'ledger'>,
): HttpContext {
  const { config, database, now } = foundation;
  const keyUse = createKeyUse({ database, now, logger: foundation.logger });
  const sessions = createSessions(database, now);
  const authenticator = createAuthenticator(database, now, { keyUse, sessions });
  const rateLimiter = createLeasedRateLimiter({ database, ...(rateClock ?? MONOTONIC) });
  const clientAddress = createClientAddress(config.http.trustedProxies);
  return {
    ...foundation,
    ...hooks,
    installationId,
    catalogue,
    rateLimiter,
    waitingResponses: createWaitingResponses(config.http.maxConnections, foundation.metrics.shares),
    imageFetches: createImageFetches(foundation.metrics.shares),
    previews: createPreviewMaker(createPreviewTurns(foundation.metrics.shares), PREVIEW_MS),
    expensiveReads: createExpensiveReads(config.database.poolSize, foundation.metrics.shares),
    bodies: createBodyAllowances({
      limits: config.bodies,
      rateLimiter,
      clientAddress,
      metrics: foundation.metrics.shares,
    }),
    bodyThreads: createBodyThreads(foundation.metrics.shares),
    uploadSlots: createUploadSlots(foundation.metrics.shares),
    uploadBounds: { ...UPLOAD_BOUNDS, ...uploadBounds },
    streamHeadMs,
    turns: createTurns(),
    clientAddress,
    keyUse,
    taskReader: createTaskReader(database),
    feed: createEventFeed({ database, logger: foundation.logger }),
    pieces: createPieceFeed({ database, logger: foundation.logger }),
    backgroundFeed: createBackgroundFeed({ database, logger: foundation.logger }),
    eventStreams: createEventStreams(now),
    sessions,
    openResponses: createOpenResponses({
      database,
      logger: foundation.logger,
      now,
      forget: (keyId) => authenticator.forget(keyId),
    }),
    sessionCookie: createSessionCookie(foundation.urlSigner.publicUrl),
    authenticator,
    textAnswers: createTextAnswers({
      ...text,
      rateLimiter,
      metrics: foundation.metrics.text,
      logger: foundation.logger,
      now,
    }),
    hookVerifier: createHookVerifier({
      secrets: foundation.upstreamSettings,
      keys: createPublicKeys(foundation),
    }),
    taskCreator: createTaskCreator({
      database,
      accountDatabase: foundation.accountDatabase,
      catalogue,
      installationId,
      egressPolicy: foundation.egressPolicy,
      urlSigner: foundation.urlSigner,
      mayClaim: hooks.mayClaim,
      parseBody: compileParse(CreateTaskSchema, 'invalid request'),
    }),
  };
}
