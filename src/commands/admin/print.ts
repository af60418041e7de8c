/**
 * What admin commands print: readable lines, or JSON with `--json`, where a list is a list and a number a number.
 * Money in decimal USD, times in ISO 8601; null means absent or unlimited.
 */
import type { Account } from '../../accounts/accounts.ts';
import type { KeyListing } from '../../accounts/keys.ts';
import type { CapSpending } from '../../billing/key-spending.ts';
import { effectOf } from '../../billing/ledger-list.ts';
import type { LedgerEntry } from '../../billing/ledger-list.ts';
import { formatUsd } from '../../domain/money.ts';

export function presentAccount(account: Account): Record<string, unknown> {
  const { limits } = account;
  return {
    account: account.id,
    name: account.name,
    organisation: account.organisationId,
    status: account.status,
    suspensionReason: account.suspensionReason,
    wallet: account.walletId,
    available: formatUsd(account.availableMicroUsd),
    held: formatUsd(account.heldMicroUsd),
    running: account.running,
    queued: account.queued,
    textStreams: account.textStreams,
    storageBytes: account.persistentBytes,
    ...limits,
    created: account.createdAt.toISOString(),
  };
}

/** @param spending by cap id. */
export function presentKey(key: KeyListing, spending: ReadonlyMap<string, CapSpending>): Record<string, unknown> {
  const spent = key.spendCapId === undefined ? undefined : spending.get(key.spendCapId);
  const capOf = (cap: bigint | undefined, used: bigint | undefined): object | null =>
    cap === undefined ? null : { usd: formatUsd(cap), spent: formatUsd(used ?? 0n) };
  return {
    keyId: key.id,
    name: key.name,
    scopes: key.scopes,
    models: key.models ?? null,
    capDay: capOf(key.spendCaps?.dayMicroUsd, spent?.dayMicroUsd),
    capTotal: capOf(key.spendCaps?.totalMicroUsd, spent?.totalMicroUsd),
    created: key.createdAt.toISOString(),
    lastUsed: key.lastUsedAt?.toISOString() ?? null,
    expires: key.expiresAt?.toISOString() ?? null,
    replacedBy: key.replacedBy ?? null,
    revoked: key.revokedAt?.toISOString() ?? null,
  };
}

export function presentEntry(entry: LedgerEntry): Record<string, unknown> {
  return {
    at: entry.createdAt.toISOString(),
    kind: entry.kind,
    reference: entry.reference,
    amount: formatUsd(entry.amountMicroUsd),
    change: formatUsd(effectOf(entry).availableMicroUsd),
    available: formatUsd(entry.availableAfterMicroUsd),
    held: formatUsd(entry.heldAfterMicroUsd),
    keyId: entry.keyId,
    model: entry.model,
    ...(entry.isEstimated ? { isEstimated: true } : {}),
  };
}

const LEAST_NAME_WIDTH = 10;

/** Prints one record, or several with blank lines between them. */
export function print(result: unknown, isJson: boolean): void {
  if (isJson) {
    process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
    return;
  }
  const records = Array.isArray(result) ? (result as readonly object[]) : [result as object];
  process.stdout.write(`${records.map(block).join('\n\n')}\n`);
}

function block(record: object): string {
  const entries = Object.entries(record);
  const width = Math.max(LEAST_NAME_WIDTH, ...entries.map(([name]) => name.length));
  return entries.map(([name, value]) => `${name.padEnd(width)} ${readable(value)}`).join('\n');
}

function readable(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '-';
  if (!Array.isArray(value)) return typeof value === 'object' ? membersOf(value) : JSON.stringify(value);
  if (value.length === 0) return 'none';
  return value.every((member) => typeof member === 'object') ? table(value as readonly object[]) : value.join(' ');
}

/** A record within another: `tasks 3, captured 0.12`. */
function membersOf(record: object): string {
  const members = Object.entries(record).map(([name, value]) => `${name} ${readable(value)}`);
  return members.length === 0 ? 'none' : members.join(', ');
}

/** Records of one kind, one per line below the names of their fields. */
function table(records: readonly object[]): string {
  const names = [...new Set(records.flatMap((record) => Object.keys(record)))];
  const rows = [
    names,
    ...records.map((record) => names.map((name) => readable((record as Record<string, unknown>)[name]))),
  ];
  const widths = names.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  return lines.map((line) => `\n  ${line.trimEnd()}`).join('');
}
