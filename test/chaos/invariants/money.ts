/** What must hold for money, according to the ledger as each account reads it. */
import { groupBy } from '../grouped.ts';
import { parseUsd } from '../../../src/domain/money.ts';
import type { AccountEvidence, Evidence, Invariant, LedgerAnswer } from '../evidence.ts';
import { mayBeUndone, mayBeUnsettled } from '../losses.ts';
import { TEXT_PRICE } from '../world/models.ts';

/** @throws {Error} it is not an amount. */
function microUsd(text: string): bigint {
  const amount = parseUsd(text.replace(/^-/, ''));
  if (amount === undefined) throw new Error(`not an amount: ${text}`);
  return text.startsWith('-') ? -amount : amount;
}

function sumOf(entries: readonly LedgerAnswer[], ...kinds: readonly string[]): bigint {
  return entries.filter(({ kind }) => kinds.includes(kind)).reduce((sum, { amount }) => sum + microUsd(amount), 0n);
}

function perAccount(
  { accounts }: Evidence,
  check: (account: AccountEvidence, name: string) => readonly { subject: string; detail: string }[],
): readonly { subject: string; detail: string }[] {
  return [...accounts].flatMap(([name, account]) => check(account, name));
}

export const oneSettlement: Invariant = {
  name: 'one hold and one settlement per task, of what was held',
  check: (evidence) =>
    perAccount(evidence, ({ ledger, tasks }) => {
      const byReference = groupBy(ledger, ({ reference }) => reference);
      const held = [...byReference].filter(([, entries]) => entries.some(({ kind }) => kind === 'hold'));
      const wrong = held.flatMap(([reference, entries]) => {
        const count = (kind: string): number => entries.filter((entry) => entry.kind === kind).length;
        const [hold, settled] = [sumOf(entries, 'hold'), sumOf(entries, 'capture', 'release')];
        if (count('hold') === 1 && count('capture') <= 1 && count('release') <= 1 && hold === settled) return [];
        return [{ subject: reference, detail: entries.map(({ kind, amount }) => `${kind} ${amount}`).join(', ') }];
      });
      const unheld = tasks.filter(({ taskId }) => !(byReference.get(taskId) ?? []).some(({ kind }) => kind === 'hold'));
      return [...wrong, ...unheld.map(({ taskId }) => ({ subject: taskId, detail: 'nothing was held for it' }))];
    }),
};

export const capturedWithinHeld: Invariant = {
  name: 'captured is at most what was held, and nothing for a failed task but what the provider billed',
  check(evidence) {
    const billed = new Map(
      evidence.provider.flatMap((line) => {
        const [, usd] = /\[bills ([\d.]+)\]/.exec(line.kind === 'cancel' ? (line.prompt ?? '') : '') ?? [];
        return line.kind === 'cancel' && usd !== undefined
          ? [[markerOf(line.prompt ?? ''), microUsd(usd)] as const]
          : [];
      }),
    );
    return perAccount(evidence, ({ tasks, ledger }) =>
      tasks.flatMap((task) => {
        const reportedCapture = microUsd(task.billing.captured);
        const booked = sumOf(
          ledger.filter(({ reference }) => reference === task.taskId),
          'capture',
        );
        const problems: string[] = [];
        if (reportedCapture !== booked) problems.push(`it says ${reportedCapture}, the ledger says ${booked}`);
        if (booked > microUsd(task.billing.held)) problems.push(`captured ${booked} of ${task.billing.held} held`);
        const isCancelled = task.error?.code === 'TASK_CANCELLED';
        const most = (isCancelled ? billed.get(task.metadata?.['marker'] ?? '') : undefined) ?? 0n;
        if (task.status === 'fail' && booked > most)
          problems.push(`it failed, billed ${most}, and ${booked} was captured`);
        if (task.status === 'success' && booked === 0n) problems.push('it succeeded, and nothing was captured');
        return problems.map((detail) => ({ subject: task.taskId, detail }));
      }),
    );
  },
};

function markerOf(prompt: string): string {
  return /^marker-[\w-]+/.exec(prompt)?.[0] ?? '';
}

export const ledgerBalances: Invariant = {
  name: 'topups + adjustments = available + held + captured, and nothing is held when all is quiet',
  check: (evidence) => [
    ...perAccount(evidence, ({ account, ledger }, name) => {
      const paidIn = sumOf(ledger, 'topup', 'adjustment');
      const [available, held] = [microUsd(account.available), microUsd(account.held)];
      const captured = sumOf(ledger, 'capture');
      const problems: string[] = [];
      if (paidIn !== available + held + captured) problems.push(`${paidIn} <> ${available} + ${held} + ${captured}`);
      if (held !== 0n) problems.push(`${held} is still held`);
      return problems.map((detail) => ({ subject: name, detail }));
    }),
    ...evidence.ledgerErrors.map((detail) => ({ subject: 'ledger verify', detail })),
  ],
};

export const neverNegative: Invariant = {
  name: 'available is never negative',
  check: (evidence) => [
    ...perAccount(evidence, ({ ledger }) =>
      ledger
        .filter(({ available }) => microUsd(available) < 0n)
        .map(({ kind, reference, available }) => ({
          subject: `${kind}:${reference}`,
          detail: `${available} after it`,
        })),
    ),
    ...evidence.clients.flatMap((line) =>
      line.kind === 'balance' && line.available !== undefined && microUsd(line.available) < 0n
        ? [{ subject: line.account, detail: `${line.available} at ${line.ended}` }]
        : [],
    ),
  ],
};

export const textCallsArePaid: Invariant = {
  name: 'a text stream never just stops, and who was answered whole has paid for what was used',
  check(evidence) {
    return evidence.clients.flatMap((line) => {
      if (line.kind !== 'text' || line.end === undefined) return [];
      if (line.end === 'silent') return [{ subject: line.marker, detail: 'the stream ended without [DONE]' }];
      if (line.end === 'error' || line.usage === undefined) return [];
      // Its hold or its settlement may be among what was lost, and nothing else records it.
      if (mayBeUndone(line, evidence.losses)) return [];
      const entries = evidence.accounts.get(line.account)?.ledger ?? [];
      const own = entries.filter(({ reference }) => reference === line.responseId);
      const captured = sumOf(own, 'capture');
      const { input, output } = line.usage;
      // Micro-USD per token is USD per million; rounded up once.
      const price = BigInt(input * TEXT_PRICE.input + output * TEXT_PRICE.output);
      if (captured === price) return [];
      const isEstimated = own.some((entry) => entry.kind === 'capture' && entry.isEstimated === true);
      if (isEstimated && captured < price && mayBeUnsettled(line, evidence.unsettledTimes)) return [];
      return [
        {
          subject: line.responseId ?? line.marker,
          detail: `captured ${captured} for ${input} and ${output} tokens, ${price}`,
        },
      ];
    });
  },
};
