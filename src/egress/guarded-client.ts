/**
 * The only client for untrusted URLs: callback URLs, reference media, providers' result URLs. It has no proxies,
 * cookies, credentials or caches, and follows redirects only for a download.
 */
import type { Readable } from 'node:stream';
import { errorCodeOf } from '../domain/darkroom-error.ts';
import { ShareExhaustedError } from '../limits/tenant-shares.ts';
import type { Logger } from '../telemetry/log.ts';
import type { ShareMetrics } from '../telemetry/metrics.ts';
import { resolveAllowedAddresses } from './connector.ts';
import type { ConnectSettings } from './connector.ts';
import { BlockedError, EgressError } from './egress-error.ts';
import { classify, exchange, startDeadline } from './exchange.ts';
import type { Answer, Deadline, Outgoing } from './exchange.ts';
import { createNameResolver } from './name-resolver.ts';
import type { ResolveName } from './name-resolver.ts';
import { isNameGranted } from './operator-lists.ts';
import { allowEntry, checkUrl, targetOf } from './policy.ts';
import type { EgressPolicy, Target } from './policy.ts';
import { boundedBody, tooLarge, PACE, awaitAnswer } from './response-bounds.ts';
import type { Pace } from './response-bounds.ts';

/** How one message is sent. */
export interface PostOptions {
  /** The account whose share of the resolver is used. */
  readonly accountId: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The time limit of the whole exchange, from resolving the name to the last byte read. */
  readonly timeoutMs: number;
  /** How much of the response's body is read; the rest is not awaited. */
  readonly maxResponseBytes: number;
  readonly signal?: AbortSignal | undefined;
}

/** How one file is fetched. */
export interface DownloadOptions {
  /** The account whose share of the resolver is used. */
  readonly accountId: string;
  /** The time limit of the whole exchange, including redirects and reading the body. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly signal?: AbortSignal | undefined;
}

/** Why a URL is not passed on. */
export interface Obstacle {
  /** The problem, for the sender of the URL. */
  readonly problem: string;
  /** Whether it may be gone in a moment: no response about the name came in time. */
  readonly isPassing: boolean;
}

/** The guarded egress client. Every method throws `EgressError`, or the reason of the caller's own signal. */
export interface Egress {
  /** Sends one message. Any status counts as a response, redirects included: they are not followed. */
  post(
    url: string,
    options: PostOptions,
  ): Promise<{ readonly status: number; readonly headers: Readonly<Record<string, string | undefined>> }>;
  /**
   * Fetches a file, over at most three redirects, each checked like the first URL. The stream fails with
   * `EgressError` `too_large` or `timeout`, the latter also if it comes too slowly (response-bounds.ts); destroying it
   * closes the connection.
   *
   * @returns `mimeType` as the server claims it, without parameters.
   */
  download(url: string, options: DownloadOptions): Promise<{ readonly body: Readable; readonly mimeType?: string }>;
  /**
   * Why another party must not fetch a URL: its name is resolved and every address classified. Nothing is
   * sent. A name that does not exist here is an obstacle too, because the other party may have search domains that
   * make it one of the operator's own. There is no obstacle if no name server can be queried at all, or if an entry
   * of `EGRESS_ALLOW` is that name.
   *
   * @throws {ShareExhaustedError} too many lookups of the account are in progress.
   */
  findObstacle(url: string, options: Omit<DownloadOptions, 'maxBytes'>): Promise<Obstacle | undefined>;
  /** Ends everything in progress; later calls fail. */
  close(): Promise<void>;
}

/**
 * `resolve`, `certificateAuthority` (PEM) and `pace` are for tests; by default: the system's resolver and trusted
 * roots, and the minimum pace of every file.
 */
export interface EgressOptions extends EgressPolicy {
  readonly logger: Logger;
  readonly resolve?: ResolveName | undefined;
  readonly metrics?: ShareMetrics | undefined;
  readonly certificateAuthority?: string | undefined;
  readonly pace?: Pace | undefined;
}

/** The maximum number of redirects, each of which is checked (stack notes, "Egress"). */
const MAX_REDIRECTS = 3;

/**
 * The maximum length of a URL in characters. Signed URLs of object stores contain session tokens and exceed the 2048
 * characters that clients may send.
 */
const MAX_URL_LENGTH = 8192;

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** Headers that would disclose an identity to an untrusted host. */
const CREDENTIAL_HEADERS = new Set(['authorization', 'proxy-authorization', 'cookie']);

/** Creates the client. What the operator allows beyond public addresses is logged once, here. */
export function createEgress(options: EgressOptions): Egress {
  const { logger, pace = PACE, resolve = createNameResolver({ metrics: options.metrics }) } = options;
  const running = new Set<Deadline>();
  let isClosed = false;
  const policy: EgressPolicy = options;
  if (options.deny !== undefined && options.deny.entries.length > 0) {
    const entries = options.deny.entries.map((entry) => entry.text);
    logger.info({ entries }, 'outgoing requests never reach the addresses of EGRESS_DENY');
  }
  if (options.allow.entries.length > 0) {
    const entries = options.allow.entries.map((entry) => entry.text);
    logger.info({ entries }, 'outgoing requests may also reach the addresses of EGRESS_ALLOW');
  }

  function begin(timeoutMs: number, signal: AbortSignal | undefined): Deadline {
    if (isClosed) throw new EgressError('unreachable', 'the client is closed');
    const started = startDeadline(timeoutMs, signal);
    const deadline = {
      ...started,
      clear: () => {
        started.clear();
        running.delete(deadline);
      },
    };
    running.add(deadline);
    return deadline;
  }

  /** Sends one request after checking its URL; a denial is logged here, because outside it looks like any failure. */
  async function send(url: string, outgoing: Omit<Outgoing, 'url'>, deadline: Deadline, accountId: string) {
    const settings: ConnectSettings = {
      policy: options,
      resolve,
      accountId,
      certificateAuthority: options.certificateAuthority,
      signal: deadline.signal,
    };
    try {
      const check = checkUrl(url, options, MAX_URL_LENGTH);
      if (!check.ok) throw new BlockedError(check.problem);
      return { url: check.url, answer: await exchange({ ...outgoing, url: check.url }, settings) };
    } catch (error) {
      if (error instanceof BlockedError) {
        const host = URL.canParse(url) ? new URL(url).host : undefined;
        logger.warn({ host, address: error.address, problem: error.message }, 'outgoing request blocked');
      }
      throw error;
    }
  }

  async function post(url: string, options: PostOptions) {
    const { accountId, headers, body, timeoutMs, maxResponseBytes, signal } = options;
    for (const name of Object.keys(headers)) {
      if (CREDENTIAL_HEADERS.has(name.toLowerCase()))
        throw new TypeError(`${name}: credential headers are sent only to hosts of upstreams`);
    }
    const deadline = begin(timeoutMs, signal);
    let answer: Answer | undefined;
    try {
      ({ answer } = await send(url, { method: 'POST', headers, body }, deadline, accountId));
      await discard(answer, maxResponseBytes);
      return { status: answer.status, headers: answer.headers };
    } catch (error) {
      throw classify(error, deadline.signal);
    } finally {
      deadline.clear();
      await answer?.end();
    }
  }

  async function download(url: string, { accountId, timeoutMs, maxBytes, signal }: DownloadOptions) {
    const deadline = begin(timeoutMs, signal);
    const hasAnswered = awaitAnswer(pace, deadline);
    try {
      const answer = await follow(url, { maxBytes, accountId }, deadline);
      const body = boundedBody(answer.body, {
        maxBytes,
        pace,
        deadline,
        failureOf: (error) => classify(error, deadline.signal),
        end: () => void answer.end(),
      });
      const mimeType = answer.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
      return mimeType === undefined || mimeType === '' ? { body } : { body, mimeType };
    } catch (error) {
      deadline.clear();
      throw classify(error, deadline.signal);
    } finally {
      hasAnswered();
    }
  }

  /** Follows redirects to a response with a body worth reading. */
  async function follow(
    first: string,
    { maxBytes, accountId }: Pick<DownloadOptions, 'maxBytes' | 'accountId'>,
    deadline: Deadline,
  ): Promise<Answer> {
    let next = first;
    for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
      const { url, answer } = await send(next, { method: 'GET', headers: {} }, deadline, accountId);
      const location = answer.headers['location'];
      if (!REDIRECTS.has(answer.status) || location === undefined) return acceptable(answer, maxBytes);
      await answer.end();
      next = redirectTarget(location, url);
    }
    throw new EgressError('unreachable', `more than ${MAX_REDIRECTS} redirects`);
  }

  async function findObstacle(url: string, options: Omit<DownloadOptions, 'maxBytes'>): Promise<Obstacle | undefined> {
    const check = checkUrl(url, policy, MAX_URL_LENGTH);
    if (!check.ok) return { problem: check.problem, isPassing: false };
    const target = targetOf(check.url);
    if (target === undefined) return { problem: 'the host is neither a name nor an address', isPassing: false };
    const { accountId, timeoutMs, signal } = options;
    const deadline = begin(timeoutMs, signal);
    try {
      await resolveAllowedAddresses(target, { policy, resolve, accountId, signal: deadline.signal });
      return undefined;
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof BlockedError) {
        const { address, message: problem } = error;
        logger.warn({ host: check.url.host, address, problem }, 'URL not passed to the upstream');
      }
      const obstacle = obstacleOf(error, target);
      const isVouchedFor = !(error instanceof BlockedError) && isNameGranted(policy.allow, target);
      return isVouchedFor ? undefined : obstacle;
    } finally {
      deadline.clear();
    }
  }

  async function close(): Promise<void> {
    isClosed = true;
    for (const deadline of running) deadline.abort(new EgressError('unreachable', 'the client was closed'));
  }

  return { post, download, findObstacle, close };
}

/** The code that c-ares reports if there is no name server to query. */
const CONNECTION_REFUSED = 'ECONNREFUSED';
/** The codes that c-ares reports if a server responded that the name does not exist or has no address. */
const NO_SUCH_NAME = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);

/** @param error from resolving a name and classifying its addresses. @throws {ShareExhaustedError} it is that. */
function obstacleOf(error: unknown, target: Target): Obstacle | undefined {
  if (error instanceof ShareExhaustedError) throw error;
  if (error instanceof BlockedError) {
    const problem = `the host does not have a public address; the operator can allow it with ${allowEntry(target)}`;
    return { problem, isPassing: false };
  }
  const code = errorCodeOf(error) ?? '';
  if (code === CONNECTION_REFUSED) return undefined;
  if (NO_SUCH_NAME.has(code)) return { problem: 'the host does not exist', isPassing: false };
  return { problem: 'the host could not be resolved in time', isPassing: true };
}

/** Accepts a response whose head promises a file within the bound, in the requested encoding. */
async function acceptable(answer: Answer, maxBytes: number): Promise<Answer> {
  const encoding = answer.headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  const isTooLarge = Number(answer.headers['content-length'] ?? 0) > maxBytes;
  const isFile = answer.status >= 200 && answer.status < 300 && encoding === 'identity';
  if (isFile && !isTooLarge) return answer;

  await answer.end();
  if (isFile) throw tooLarge(maxBytes);
  const problem = encoding === 'identity' ? 'with no file' : 'in an encoding that was not requested';
  throw new EgressError('status', `the address answered ${answer.status} ${problem}`, { status: answer.status });
}

/** A fragment is for browsers and not sent; everything else of the new URL is checked as it is. */
function redirectTarget(location: string, from: URL): string {
  if (!URL.canParse(location, from.href)) throw new EgressError('unreachable', 'redirected to an invalid URL');
  const next = new URL(location, from);
  next.hash = '';
  return next.href;
}

/** Reads a response to its end or its bound, whichever comes first, and discards it. */
async function discard(answer: Answer, maxBytes: number): Promise<void> {
  let received = 0;
  for await (const chunk of answer.body) {
    received += (chunk as Buffer).length;
    if (received >= maxBytes) return;
  }
}
