/**
 * Fetches a file that an upstream serves itself, from its configured origin: scheme, host and port. The operator named
 * that origin, so it may be plain http and private, and it alone gets the credential. Redirects to other origins are
 * not followed here: any other URL is for the guarded client (src/egress/), which has no credential.
 */
import type { Readable } from 'node:stream';
import { Agent } from 'undici';
import type { Dispatcher } from 'undici';
import { timeOutMs } from '../config/time-outs.ts';
import { boundedBody, tooLarge, PACE, awaitAnswer } from '../egress/response-bounds.ts';
import { EgressError } from '../egress/egress-error.ts';
import { createConnector } from '../egress/upstream-connector.ts';
import { startDeadline } from '../egress/exchange.ts';
import type { Deadline } from '../egress/exchange.ts';
import type { Pace } from '../egress/response-bounds.ts';
import type { DownloadCall, UpstreamFile } from './provider.ts';

const CONNECT_TIMEOUT_MS = timeOutMs(10_000);
const MAX_REDIRECTS = 3;
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

/** Fetches from one origin only. */
export type UpstreamDownload = (
  url: URL,
  headers: Readonly<Record<string, string>>,
  call: DownloadCall,
) => Promise<UpstreamFile>;

/** Creates the client, with its own connections. Idle ones do not keep the process alive. @param pace for tests. */
export function createUpstreamDownload(pace: Pace = PACE): UpstreamDownload {
  // Our own timers bound the exchange: one for the whole exchange, and the pace.
  const agent = new Agent({ connect: createConnector(CONNECT_TIMEOUT_MS), headersTimeout: 0, bodyTimeout: 0 });

  return async (url, headers, { timeoutMs, maxBytes, signal }) => {
    const deadline = startDeadline(timeoutMs, signal);
    const hasAnswered = awaitAnswer(pace, deadline);
    try {
      let next = url;
      for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
        const answer = await agent.request({
          origin: next.origin,
          path: next.pathname + next.search,
          method: 'GET',
          headers: { ...headers, 'accept-encoding': 'identity' },
          signal: deadline.signal,
        });
        answer.body.on('error', () => undefined);
        const { location } = answer.headers;
        if (!REDIRECTS.includes(answer.statusCode) || typeof location !== 'string') {
          return { from: 'upstream', body: bodyOf(answer, { maxBytes, pace, deadline }) };
        }
        answer.body.destroy();
        if (!URL.canParse(location, next.href)) {
          throw new EgressError('unreachable', 'redirected to an invalid URL', { isBarred: true });
        }
        next = new URL(location, next);
        next.hash = '';
        if (next.origin !== url.origin) {
          deadline.clear();
          return { from: 'elsewhere', url: next.href };
        }
      }
      throw new EgressError('unreachable', `more than ${MAX_REDIRECTS} redirects`, { isBarred: true });
    } catch (error) {
      deadline.clear();
      throw failureOf(error, deadline);
    } finally {
      hasAnswered();
    }
  };
}

/** The response body, if it is worth reading. */
function bodyOf(
  answer: Dispatcher.ResponseData,
  { maxBytes, pace, deadline }: { readonly maxBytes: number; readonly pace: Pace; readonly deadline: Deadline },
): Readable {
  const status = answer.statusCode;
  const encoding = String(answer.headers['content-encoding'] ?? '').trim();
  const isEncoded = !/^(identity)?$/i.test(encoding);
  if (status < 200 || status >= 300 || isEncoded) {
    answer.body.destroy();
    const problem = isEncoded ? 'in an encoding that was not requested' : 'with no file';
    throw new EgressError('status', `the upstream answered ${status} ${problem}`, { status });
  }
  if (Number(answer.headers['content-length'] ?? 0) > maxBytes) {
    answer.body.destroy();
    throw tooLarge(maxBytes);
  }
  return boundedBody(answer.body, {
    maxBytes,
    pace,
    deadline,
    failureOf: (error) => failureOf(error, deadline),
    end: () => answer.body.destroy(),
  });
}

/** No cause: undici's errors contain the host, and this one may be written into a history. */
function failureOf(error: unknown, deadline: Deadline): unknown {
  if (deadline.signal.aborted) return deadline.signal.reason;
  return error instanceof EgressError ? error : new EgressError('unreachable', 'the upstream could not be reached');
}
