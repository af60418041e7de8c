/**
 * What must hold for text that no connection waits for, responses in the background and the lines of batches, and for
 * batches of both kinds.
 */
import { parseUsd } from '../../../src/domain/money.ts';
import type { AccountEvidence, BatchEvidence, Evidence, Invariant, ResultLine, Violation } from '../evidence.ts';
import { groupBy } from '../grouped.ts';
import { mayBeUndone, wasHeardInLoss } from '../losses.ts';
import type { Span } from '../losses.ts';
import { hasBatchEnded, hasResponseEnded } from '../records.ts';
import type { ClientLine, ResponseAnswer } from '../records.ts';
import { TEXT_PRICE } from '../world/models.ts';

type Found = Omit<Violation, 'invariant'>;
type Line<Kind extends ClientLine['kind']> = ClientLine & { readonly kind: Kind };

function linesOf<Kind extends ClientLine['kind']>({ clients }: Evidence, kind: Kind): readonly Line<Kind>[] {
  return clients.filter((line): line is Line<Kind> => line.kind === kind);
}

function accountsOf({ accounts }: Evidence): readonly AccountEvidence[] {
  return [...accounts.values()];
}

const GONE = 'it was accepted, and no one knows it any more';

/** What must not change once a response has ended. What was seen of a cancelled one is known a moment later. */
function endOf({ status, output, error, usage }: ResponseAnswer): string {
  return JSON.stringify({ status, output, error, ...(status === 'cancelled' ? {} : { usage }) });
}

export const everyResponseEnds: Invariant = {
  name: 'every response in the background ends, stays as it ended, and can be read',
  check(evidence) {
    const finals = new Map(accountsOf(evidence).flatMap(({ responses }) => [...responses]));
    const accepts = linesOf(evidence, 'background').filter(({ responseId }) => responseId !== undefined);
    const open = [...finals].flatMap(([subject, response]): Found[] => {
      if (response === undefined) {
        const accepted = accepts.filter(({ responseId }) => responseId === subject);
        return mayStayGone(accepted, evidence, 402) ? [] : [{ subject, detail: GONE }];
      }
      return hasResponseEnded(response.status) ? [] : [{ subject, detail: `it is still ${response.status}` }];
    });
    const ids = groupBy(accepts, ({ account, key }) => `${account} ${key}`);
    const several = [...ids].flatMap(([subject, lines]): Found[] => {
      const found = new Set(lines.map(({ responseId }) => responseId));
      return found.size === 1 ? [] : [{ subject, detail: `one key, and ${[...found].join(', ')}` }];
    });
    const changed = linesOf(evidence, 'response').flatMap((line): Found[] => {
      const { responseId: subject, response, outcome, begun } = line;
      if (outcome.kind === 'answer' && outcome.status === 404) {
        const kept = accepts.find(
          (each) =>
            each.responseId === subject && each.ended < begun && !mayBeUndone(each, evidence.losses, line.ended),
        );
        return kept === undefined ? [] : [{ subject, detail: `accepted at ${kept.ended}, and not found at ${begun}` }];
      }
      const final = finals.get(subject);
      if (response === undefined || final === undefined || mayBeUndone(line, evidence.losses)) return [];
      if (!hasResponseEnded(response.status) || endOf(response) === endOf(final)) return [];
      return [{ subject, detail: `read at ${begun}: ${endOf(response)}; at last: ${endOf(final)}` }];
    });
    return [...open, ...several, ...changed];
  },
};

/** The lines of a batch that was accepted, by its id. */
function markersByBatch(evidence: Evidence): ReadonlyMap<string, readonly string[]> {
  return new Map(
    linesOf(evidence, 'batch').flatMap(({ batchId, markers }) => (batchId === undefined ? [] : [[batchId, markers]])),
  );
}

export const everyLineOnce: Invariant = {
  name: 'every batch ends, with exactly one answer or one error for each line',
  check(evidence) {
    const found = new Map(accountsOf(evidence).flatMap(({ batches }) => batches.map((each) => [each.batch.id, each])));
    const markers = markersByBatch(evidence);
    const batches = linesOf(evidence, 'batch');
    const gone = [...markers.keys()].flatMap((subject): Found[] => {
      const accepted = batches.filter(({ batchId }) => batchId === subject);
      return found.has(subject) || mayStayGone(accepted, evidence, 400) ? [] : [{ subject, detail: GONE }];
    });
    const notFound = linesOf(evidence, 'batch-read').flatMap((line): Found[] => {
      if (line.outcome.kind !== 'answer' || line.outcome.status !== 404) return [];
      const kept = batches.find(
        (each) =>
          each.batchId === line.batchId && each.ended < line.begun && !mayBeUndone(each, evidence.losses, line.ended),
      );
      return kept === undefined ? [] : [{ subject: line.batchId, detail: `not found at ${line.begun}` }];
    });
    return [...gone, ...notFound, ...[...found.values()].flatMap((each) => wrongIn(each, markers.get(each.batch.id)))];
  },
};

/**
 * Lost with a commit, and not made again by the same request, which was rejected: 402, the balance has been spent
 * meanwhile; 400, the file of a batch was lost too, and its client has made another one.
 */
function mayStayGone(
  accepted: readonly Line<'background' | 'batch'>[],
  { clients, losses }: Evidence,
  rejection: number,
): boolean {
  const [first] = accepted;
  return (
    first !== undefined &&
    accepted.every((line) => mayBeUndone(line, losses)) &&
    clients.some(
      (line) =>
        line.kind === first.kind &&
        line.key === first.key &&
        line.outcome.kind === 'answer' &&
        line.outcome.status === rejection,
    )
  );
}

/** @param markers absent: its client never got its id. */
function wrongIn({ batch, output, errors }: BatchEvidence, markers: readonly string[] | undefined): readonly Found[] {
  const { id: subject, status, request_counts: counts } = batch;
  if (!hasBatchEnded(status)) return [{ subject, detail: `it is still ${status}` }];
  // Of an attacker, whose file has no lines: no client that is checked sends one.
  if (status === 'failed' && markers === undefined && (batch.errors?.data.length ?? 0) > 0) return [];
  if (status === 'failed' || status === 'expired') return [{ subject, detail: `it is ${status}` }];
  const found: Found[] = [];
  const lines = [...output, ...errors];
  const byId = groupBy(lines, ({ customId }) => customId ?? 'no custom_id');
  for (const [customId, results] of byId) {
    if (results.length > 1) found.push({ subject, detail: `${results.length} results of ${customId}` });
    if (markers?.includes(customId) === false) found.push({ subject, detail: `a result of ${customId}` });
  }
  // One that was cancelled before it was read has no results.
  const isUnread = status === 'cancelled' && counts.total === 0 && lines.length === 0;
  const missing = isUnread ? [] : (markers ?? []).filter((marker) => !byId.has(marker));
  if (missing.length > 0) found.push({ subject, detail: `no result of ${missing.join(', ')}` });
  const wrong = output.filter(({ status: own }) => own !== 200);
  if (wrong.length > 0) found.push({ subject, detail: `an answer that is none: ${JSON.stringify(wrong[0])}` });
  if (counts.completed !== output.length || counts.completed + counts.failed > counts.total) {
    found.push({ subject, detail: `${JSON.stringify(counts)}, and ${output.length} answers` });
  }
  return found;
}

/** Besides 403 and 429: what passes by itself, or by an act that is not about the line (docs/decisions/0023). */
const PASSING = ['SERVICE_UNAVAILABLE', 'upstream_rate_limited'];

export const linesOutwait: Invariant = {
  name: 'no line of a batch fails because of what passes',
  check: (evidence) =>
    accountsOf(evidence).flatMap(({ batches }) =>
      batches.flatMap(({ batch, errors }) =>
        errors
          // What a task has come to is an outcome, whatever its code.
          .filter(({ requestId }) => requestId?.startsWith('tk-svc-') !== true)
          .filter(({ status, errorCode = '' }) => status === 403 || status === 429 || PASSING.includes(errorCode))
          .map(({ customId, status, errorCode }) => ({
            subject: batch.id,
            detail: `${customId ?? 'a line'}: ${status} ${errorCode}`,
          })),
      ),
    ),
};

/** A text call, as a rule one that no connection waited for. */
interface DurableCall {
  /** Undefined: a line that had no turn. */
  readonly id: string | undefined;
  readonly marker: string;
  readonly account: AccountEvidence;
  readonly isAnswered: boolean;
  /** What was seen of it is paid, and be it only the input. */
  readonly isCancelled: boolean;
  readonly usage?: { readonly input: number; readonly output: number } | undefined;
  /** From its creation until it was seen to have ended. */
  readonly span: Span;
}

function callsOf(evidence: Evidence): readonly DurableCall[] {
  return [...responseCalls(evidence), ...lineCalls(evidence)];
}

function responseCalls(evidence: Evidence): readonly DurableCall[] {
  const reads = groupBy(linesOf(evidence, 'response'), ({ responseId }) => responseId);
  const byMarker = groupBy(
    linesOf(evidence, 'background').filter(({ responseId }) => responseId !== undefined),
    ({ marker }) => marker,
  );
  return [...byMarker].flatMap(([marker, lines]): DurableCall[] => {
    const [{ account: name, responseId: id = '', begun: from } = assertLine()] = lines;
    const account = evidence.accounts.get(name);
    const response = account?.responses.get(id);
    if (account === undefined || response === undefined) return [];
    const { usage, status } = response;
    const until = (reads.get(id) ?? []).at(-1)?.ended ?? Infinity;
    return [
      {
        id,
        marker,
        account,
        isAnswered: status === 'completed' || status === 'incomplete',
        isCancelled: status === 'cancelled',
        usage: usage === null ? undefined : { input: usage.input_tokens, output: usage.output_tokens },
        span: { from, until },
      },
    ];
  });
}

/** Nothing is expected of their ends here: a client that leaves pays for what was seen (money.ts). */
function waitedForCalls({ accounts, waitedFor }: Evidence): readonly DurableCall[] {
  return [...waitedFor].flatMap(([marker, { id, account: name }]): DurableCall[] => {
    const account = accounts.get(name);
    if (account === undefined) return [];
    return [{ id, marker, account, isAnswered: false, isCancelled: true, span: { from: 0, until: Infinity } }];
  });
}

function assertLine(): never {
  throw new Error('a group without members');
}

function lineCalls(evidence: Evidence): readonly DurableCall[] {
  const created = groupBy(linesOf(evidence, 'batch'), ({ batchId }) => batchId ?? '');
  const reads = groupBy(linesOf(evidence, 'batch-read'), ({ batchId }) => batchId);
  return accountsOf(evidence).flatMap((account) =>
    account.batches.flatMap(({ batch, output, errors }) => {
      const [first] = created.get(batch.id) ?? [];
      if (first?.endpoint !== '/v1/chat/completions') return [];
      const span = { from: first.begun, until: (reads.get(batch.id) ?? []).at(-1)?.ended ?? Infinity };
      const callOf = (line: ResultLine, isAnswered: boolean): DurableCall => ({
        id: line.requestId,
        marker: line.customId ?? '',
        account,
        isAnswered,
        isCancelled: false,
        usage: line.usage,
        span,
      });
      return [...output.map((line) => callOf(line, true)), ...errors.map((line) => callOf(line, false))];
    }),
  );
}

function capturedFor({ id, account }: DurableCall): bigint {
  return account.ledger
    .filter(({ kind, reference }) => kind === 'capture' && reference === id)
    .reduce((sum, { amount }) => sum + (parseUsd(amount) ?? 0n), 0n);
}

export const answersArePaid: Invariant = {
  name: 'a response in the background and a line pay for the answer that they have, and nothing without one',
  check: (evidence) =>
    callsOf(evidence).flatMap((call) => {
      // What was seen of it until then is paid.
      if (call.isCancelled) return [];
      const captured = capturedFor(call);
      const { input, output } = call.usage ?? { input: 0, output: 0 };
      // Micro-USD per token is USD per million; rounded up once.
      const price = call.isAnswered ? BigInt(input * TEXT_PRICE.input + output * TEXT_PRICE.output) : 0n;
      if (captured === price && call.isAnswered === price > 0n) return [];
      // Its hold may be among what was lost, and nothing else records it, as with calls whose clients wait.
      const { from: begun, until: ended } = call.span;
      if (captured === 0n && mayBeUndone({ begun, ended }, evidence.losses)) return [];
      const detail = `captured ${captured} for ${input} and ${output} tokens, ${call.isAnswered ? '' : 'not '}answered`;
      return [{ subject: call.id ?? call.marker, detail }];
    }),
};

/**
 * The requests of each call that the text upstream may bill, by marker: when they came.
 *
 * @param without those that ended so.
 */
function billedRequests(
  { provider }: Evidence,
  without: readonly string[] = ['rejected'],
): ReadonlyMap<string, readonly number[]> {
  const requests = new Map<string, number[]>();
  for (const line of provider) {
    if (line.kind === 'misbehaved' && line.marker !== undefined && (line.mode === 'garbage' || line.mode === 'hang')) {
      requests.set(line.marker, [...(requests.get(line.marker) ?? []), line.at]);
    }
    if (line.kind !== 'text') continue;
    const before = requests.get(line.marker) ?? [];
    if (line.state === 'asked') requests.set(line.marker, [...before, line.at]);
    // The one that came last.
    if (without.includes(line.state)) requests.set(line.marker, before.slice(0, -1));
  }
  return requests;
}

/** From the commit that says that a request is sent until the upstream has it, on a busy machine. */
const SENT_WITHIN_MS = 5_000;

function isInterrupted({ from, until }: Span, { interruptions }: Evidence): boolean {
  return interruptions.some((each) => each.from <= until && each.until >= from);
}

export const requestsAreBooked: Invariant = {
  name: 'requests at the text upstream = answers that were paid + losses that were recorded',
  check(evidence) {
    const requests = billedRequests(evidence);
    return [...callsOf(evidence), ...waitedForCalls(evidence)].flatMap((call) => {
      const { id = '', marker, span } = call;
      const came = requests.get(marker) ?? [];
      const kept = came.filter((at) => !wasHeardInLoss(at - SENT_WITHIN_MS, evidence.losses, SENT_WITHIN_MS));
      const paid = capturedFor(call) > 0n ? 1 : 0;
      const lost = evidence.lostRequests.get(id) ?? 0;
      const isLess = kept.length > paid + lost;
      // A request that never arrived is recorded too: that it did not is not known.
      const isMore = paid + lost > came.length && !call.isCancelled && !isInterrupted(span, evidence);
      if (!isLess && !isMore) return [];
      return [
        { subject: id === '' ? marker : id, detail: `${marker}: ${came.length} requests, ${paid} paid, ${lost} lost` },
      ];
    });
  },
};

/** How long after a fault begins, or before a request, they are still one event. */
const AT_ONCE_MS = 1_000;

export const sentAgainOnlyIfInterrupted: Invariant = {
  name: 'a text call that no connection waits for is sent again only if it was interrupted',
  check(evidence) {
    const requests = billedRequests(evidence, ['rejected', 'broken']);
    return callsOf(evidence).flatMap(({ id, marker }) => {
      const came = requests.get(marker) ?? [];
      const [first] = came;
      const last = came.at(-1);
      if (first === undefined || last === undefined || came.length < 2) return [];
      if (isInterrupted({ from: first - AT_ONCE_MS, until: last }, evidence)) return [];
      return [{ subject: id ?? marker, detail: `${marker}: requests at ${came.join(', ')}` }];
    });
  },
};
