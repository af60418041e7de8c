/**
 * One request to one upstream, from its first byte to the end of the answer. It begins when the answer's first piece
 * is there; until then any failure is an error of `begun`, after that an error in the middle of the pieces.
 */
import type { TextLimits } from '../../catalogue/text-definition.ts';
import { timeOutMs } from '../../config/time-outs.ts';
import { CollectedBytes } from '@darkroom/media/collected-bytes';
import { JsonBoundsError, UPSTREAM_JSON_BOUNDS, createJsonScanner } from '../../domain/json-scanner.ts';
import type { JsonScanner } from '../../domain/json-scanner.ts';
import type {
  AnswerHeaders,
  OutgoingRequest,
  Receiver,
  RunningExchange,
  StartExchange,
} from '../../upstreams/exchange.ts';
import type { OpenedAnswer, TextCall } from '../source.ts';
import { TextFailure } from '../text-failure.ts';
import { CallClock } from './call-clock.ts';
import type { TimeLimit } from './call-clock.ts';
import { parse } from './chat-stream.ts';
import { EventSplitter } from './event-stream.ts';
import type { Plan, StreamPlan } from './plan.ts';
import { PullQueue } from './pull-queue.ts';
import { toFailure } from './rejection.ts';
import { UpstreamFailure, brokenOff, invalidAnswer } from './upstream-failure.ts';

/**
 * The maximum size of an upstream's response: 32 MB. With logprobs of every token, a long output takes some megabytes.
 */
const MAX_BODY_BYTES = 32 * 1024 * 1024;
/** How many bytes of a rejection are read, and for how long. Its status is the most informative part. */
const MAX_REJECTION_BYTES = 64 * 1024;
const REJECTION_MS = timeOutMs(2_000);
/** After `[DONE]`, a connection is reused if it ends the answer within this time. */
const LAST_BYTES_MS = 1_000;

export interface AttemptOptions {
  readonly exchange: StartExchange;
  readonly request: OutgoingRequest;
  readonly call: TextCall;
  readonly plan: Plan;
  readonly limits: TextLimits;
  /** When the call began, by `performance.now()`. */
  readonly startedAt: number;
  readonly signal: AbortSignal;
}

/** @throws {TextFailure} @throws {InvalidTextRequest} nothing was emitted. */
export function attempt(options: AttemptOptions): Promise<OpenedAnswer> {
  return new Promise((resolve, reject) => {
    const running = new Attempt(options, resolve, reject);
    running.start();
  });
}

type State = 'waiting' | 'rejected' | 'whole' | 'streaming' | 'over';

/** Pieces are frames or events; the plan decides which. */
interface RunningStream {
  readonly plan: StreamPlan<unknown>;
  readonly splitter: EventSplitter;
  readonly queue: PullQueue<unknown>;
}

class Attempt implements Receiver {
  readonly #options: AttemptOptions;
  readonly #resolve: (answer: OpenedAnswer) => void;
  readonly #reject: (error: Error) => void;
  readonly #clock: CallClock;
  readonly #onAbort = (): void => this.#fail(abortedBy(this.#options.signal));
  #state: State = 'waiting';
  #exchange: RunningExchange | undefined;
  readonly #received = new CollectedBytes();
  /** Of a whole answer: a stream is parsed event by event. */
  #scanner: JsonScanner | undefined;
  #rejection: { readonly status: number; readonly headers: AnswerHeaders } | undefined;
  #shortTimer: NodeJS.Timeout | undefined;
  #stream: RunningStream | undefined;
  #isOpened = false;

  constructor(options: AttemptOptions, resolve: (answer: OpenedAnswer) => void, reject: (error: Error) => void) {
    this.#options = options;
    this.#resolve = resolve;
    this.#reject = reject;
    const { limits, plan, startedAt } = options;
    const clockLimits = {
      // A whole answer begins only when all of it is there.
      firstMs: plan.kind === 'stream' ? limits.firstByteSeconds * 1000 : Infinity,
      idleMs: limits.idleSeconds * 1000,
      totalMs: limits.totalSeconds * 1000,
    };
    this.#clock = new CallClock(clockLimits, startedAt, (limit) => this.#fail(tooSlow(limit)));
  }

  start(): void {
    const { signal, exchange, request } = this.#options;
    if (signal.aborted) return this.#onAbort();
    signal.addEventListener('abort', this.#onAbort);
    this.#exchange = exchange(request, this);
  }

  head(status: number, headers: AnswerHeaders): void {
    if (status < 200 || status > 299) {
      this.#state = 'rejected';
      this.#rejection = { status, headers };
      this.#shortTimer = setTimeout(() => this.#failRejected(), REJECTION_MS);
      return;
    }
    const { plan } = this.#options;
    const encoding = String(headers['content-encoding'] ?? 'identity').toLowerCase();
    if (encoding !== 'identity') return this.#fail(invalidAnswer('an answer in an encoding that was not requested'));
    if (plan.kind === 'whole') {
      if (Number(headers['content-length'] ?? 0) > MAX_BODY_BYTES) return this.#fail(tooLarge());
      this.#state = 'whole';
      this.#clock.begin();
      this.#clock.wait();
      return;
    }
    if (!/^\s*text\/event-stream\b/i.test(String(headers['content-type'] ?? ''))) {
      return this.#fail(invalidAnswer('an answer that is no stream of events', { status }));
    }
    this.#state = 'streaming';
    this.#stream = this.#streamOf(plan);
  }

  data(chunk: Buffer): void {
    switch (this.#state) {
      case 'rejected':
        this.#received.push(chunk);
        if (this.#received.length > MAX_REJECTION_BYTES) this.#failRejected();
        return;
      case 'whole':
        this.#clock.wait();
        this.#received.push(chunk);
        if (this.#received.length > MAX_BODY_BYTES) return this.#fail(tooLarge());
        this.#scan(chunk);
        return;
      case 'streaming':
        return this.#take((stream) => stream.splitter.push(chunk));
      default:
    }
  }

  end(): void {
    this.#exchange = undefined;
    switch (this.#state) {
      case 'rejected':
        return this.#failRejected();
      case 'whole':
        return this.#endWhole();
      case 'streaming':
        return this.#endStream();
      case 'over':
        clearTimeout(this.#shortTimer);
        return;
      default:
        this.#fail(invalidAnswer('an answer without a status'));
    }
  }

  lost(code: string, wasSent: boolean): void {
    this.#exchange = undefined;
    switch (this.#state) {
      case 'waiting':
        return this.#fail(
          new UpstreamFailure('upstream_unavailable', 'the upstream could not be reached, or closed the connection', {
            code,
            isTransient: true,
            isConnectionLost: wasSent,
          }),
        );
      case 'rejected':
        return this.#failRejected();
      case 'whole':
        return this.#fail(brokenOff('an answer that broke off', code));
      case 'streaming':
        return this.#endStream();
      case 'over':
        clearTimeout(this.#shortTimer);
    }
  }

  #streamOf(plan: StreamPlan<unknown>): RunningStream {
    const queue = new PullQueue<unknown>({
      sizeOf: (piece) => plan.sizeOf(piece),
      onFull: () => this.#exchange?.pause(),
      onRoom: () => this.#exchange?.resume(),
      onWaiting: () => this.#clock.wait(),
      onAbandoned: () => this.#close(),
    });
    const emit = (piece: unknown): void => queue.push(piece);
    const splitter = new EventSplitter((name, data) => plan.reader.read(name, data, emit));
    return { plan, queue, splitter };
  }

  /** Processes a part of the stream, and hands the answer over with its first piece. */
  #take(work: (stream: RunningStream) => void): void {
    const stream = this.#stream;
    if (stream === undefined) return;
    try {
      work(stream);
    } catch (error) {
      // What came before the error is emitted, however the bytes were cut.
      this.#open(stream);
      return this.#fail(error);
    }
    this.#open(stream);
    // With pieces available the reader does not wait, and if it does wait, this was a sign of life.
    if (stream.queue.isWaiting) this.#clock.wait();
    else this.#clock.pause();
    if (!stream.plan.reader.isOver || this.#state === 'over') return;
    stream.queue.end();
    this.#finish();
    if (this.#exchange !== undefined) this.#awaitLastBytes();
  }

  #open({ plan, queue }: RunningStream): void {
    if (this.#isOpened || queue.isEmpty) return;
    this.#isOpened = true;
    this.#clock.begin();
    this.#resolve(plan.opened(queue));
  }

  /** In order or not: the content shows whether it is complete. */
  #endStream(): void {
    this.#take(({ splitter, plan, queue }) => {
      splitter.end();
      plan.reader.end((piece) => queue.push(piece));
    });
  }

  #endWhole(): void {
    try {
      const { plan } = this.#options;
      if (plan.kind !== 'whole') throw new Error('a whole answer was read with the plan of a stream');
      const answer = plan.read(parse(this.#received.take().toString('utf8')));
      this.#finish();
      this.#resolve(answer);
    } catch (error) {
      this.#fail(error);
    }
  }

  #failRejected(): void {
    const rejection = this.#rejection;
    if (rejection === undefined) return;
    const text = this.#received.take().toString('utf8');
    const { call, plan } = this.#options;
    this.#fail(toFailure({ ...rejection, text }, call, plan.interfaceUsed));
  }

  /** An answer that is parsed whole: many values block everything else for as long as that takes. */
  #scan(chunk: Buffer): void {
    try {
      this.#scanner ??= createJsonScanner(UPSTREAM_JSON_BOUNDS);
      this.#scanner.push(chunk);
    } catch (error) {
      if (!(error instanceof JsonBoundsError)) throw error;
      this.#fail(invalidAnswer(error.message));
    }
  }

  /** The connection may serve another call, if the answer ends as it should. */
  #awaitLastBytes(): void {
    this.#exchange?.resume();
    this.#shortTimer = setTimeout(() => this.#exchange?.abort(), LAST_BYTES_MS);
    this.#shortTimer.unref();
  }

  #fail(error: unknown): void {
    if (this.#state === 'over') return;
    this.#close();
    const failure = error instanceof Error ? error : new Error(String(error));
    if (!this.#isOpened) this.#reject(failure);
    else if (this.#options.signal.aborted) this.#stream?.queue.cut(failure);
    else this.#stream?.queue.fail(failure);
  }

  /** Ends the exchange, in any state. */
  #close(): void {
    this.#finish();
    this.#exchange?.abort();
    this.#exchange = undefined;
  }

  #finish(): void {
    this.#state = 'over';
    this.#received.clear();
    this.#clock.stop();
    clearTimeout(this.#shortTimer);
    this.#options.signal.removeEventListener('abort', this.#onAbort);
  }
}

function tooLarge(): UpstreamFailure {
  return invalidAnswer(`an answer of more than ${MAX_BODY_BYTES} bytes`);
}

const TOO_SLOW: Readonly<Record<TimeLimit, string>> = {
  first: 'the upstream did not begin to answer in time',
  idle: 'the upstream fell silent',
  total: 'the call took too long',
};

function tooSlow(limit: TimeLimit): UpstreamFailure {
  return new UpstreamFailure('upstream_timeout', TOO_SLOW[limit], { isFinal: limit === 'total' });
}

/** The code that ends a call may give a reason; a client that disconnects gives none. */
function abortedBy({ reason }: AbortSignal): TextFailure {
  if (reason instanceof TextFailure) return reason;
  return new UpstreamFailure('interrupted', 'the call was cancelled', { isFinal: true });
}
