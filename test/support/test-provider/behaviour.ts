/**
 * The behaviour that a prompt requests from the test provider. Words in square brackets choose it, so that a test
 * needs no second channel to the provider and a prompt in a log shows what was meant to happen:
 *
 * `[hold]` the work takes until the test releases it · `[hold-submit]` accepts at once, answers when the test releases
 * it · `[slow 3000]` the work takes that long (ms) · `[delay-submit 2000]` accepts at once, answers that much later ·
 * `[reject 429]` rejects with that status · `[reject-first 2]` rejects that many submits with 503, then accepts ·
 * `[content]` a content rejection in the provider's own form · `[fail]` the work fails · `[fail-tasks]` the same at `tasks` only · `[no output]` the work is
 * done without any output · `[html]` accepts, responds with a page · `[drop]` accepts, cuts the connection · `[500]`
 * accepts, responds with 500 · `[poll-fail 2]` answers that many polls with 500 · `[404 file]` the result's URL
 * returns 404 · `[bills 0.004]` billed although it was cancelled or failed (tasks) · `[retry-after 2]` the Retry-After of
 * rejections (s) · `[huge response]` accepts, and sends a response that declares 3 TB · `[odd types]` accepts, responds
 * with fields of other types · `[odd-poll]` the same for polls · `[poll-after 600]` the delay that polls of a running
 * job request (s) · `[html-poll]` polls are answered with a page · `[hook-every 500]` calls back that often (ms)
 * while it works, and not only at the end · `[html file]` the result is a page · `[huge file]` the result declares 3
 * TB · `[file-redirect http://…]` the result redirects there · `[video]` the result is a video instead of an image ·
 * `[cut-file 40]` only that many of its bytes are served, as if they were all · `[break-file 2]` the connection
 * breaks off in the middle of it that many times · `[silent-cancel]` a cancel is accepted, changes nothing and is
 * never answered (tasks).
 */

/** A prompt's behaviour; numbers are 0 where the word is absent. */
export interface Behaviour {
  readonly isHeld: boolean;
  readonly isAnswerHeld: boolean;
  readonly workMs: number;
  readonly answerDelayMs: number;
  readonly rejectStatus: number;
  readonly rejectFirst: number;
  readonly pollFailures: number;
  readonly isContentRejected: boolean;
  readonly isFailing: boolean;
  readonly isFailingAsTask: boolean;
  readonly hasNoOutput: boolean;
  readonly answersHtml: boolean;
  readonly dropsConnection: boolean;
  readonly answers500: boolean;
  readonly hasNoFile: boolean;
  readonly answersPollsWithHtml: boolean;
  readonly answersPollsWithOtherTypes: boolean;
  readonly answersTooMuch: boolean;
  readonly answersOtherTypes: boolean;
  readonly hookIntervalMs: number;
  readonly pollAfterSeconds: number;
  readonly retryAfterSeconds: number;
  readonly hasHtmlFile: boolean;
  readonly hasHugeFile: boolean;
  readonly fileRedirect: string | undefined;
  readonly isVideo: boolean;
  readonly cutFileBytes: number;
  readonly fileBreaks: number;
  readonly leavesCancelsUnanswered: boolean;
  /** Decimal USD; undefined if the prompt has no such word. */
  readonly billedUsd: string | undefined;
}

/** Reads the behaviour that a prompt chooses. */
export function readBehaviour(prompt: string): Behaviour {
  const has = (word: string): boolean => prompt.includes(`[${word}]`);
  const number = (word: string): number => Number(new RegExp(`\\[${word} (\\d+)\\]`).exec(prompt)?.[1] ?? 0);
  return {
    isHeld: has('hold'),
    isAnswerHeld: has('hold-submit'),
    workMs: number('slow'),
    answerDelayMs: number('delay-submit'),
    rejectStatus: number('reject'),
    rejectFirst: number('reject-first'),
    pollFailures: number('poll-fail'),
    isContentRejected: has('content'),
    isFailing: has('fail'),
    isFailingAsTask: has('fail-tasks'),
    hasNoOutput: has('no output'),
    answersHtml: has('html'),
    dropsConnection: has('drop'),
    answers500: has('500'),
    hasNoFile: has('404 file'),
    answersPollsWithHtml: has('html-poll'),
    answersPollsWithOtherTypes: has('odd-poll'),
    answersTooMuch: has('huge response'),
    answersOtherTypes: has('odd types'),
    hookIntervalMs: number('hook-every'),
    pollAfterSeconds: number('poll-after'),
    retryAfterSeconds: number('retry-after'),
    hasHtmlFile: has('html file'),
    hasHugeFile: has('huge file'),
    isVideo: has('video'),
    cutFileBytes: number('cut-file'),
    fileBreaks: number('break-file'),
    leavesCancelsUnanswered: has('silent-cancel'),
    fileRedirect: /\[file-redirect (\S+)\]/.exec(prompt)?.[1],
    billedUsd: /\[bills ([\d.]+)\]/.exec(prompt)?.[1],
  };
}
