/**
 * What the page shows, as stored in its URL, with the API's parameters where they exist: a URL can be shared.
 */
import { MAX_USAGE_DAYS } from '@darkroom/api/facts/limits';
import { useCallback, useMemo } from 'react';
import { useLocation, useSearch } from 'wouter';
import type { LedgerKind } from '@darkroom/api/facts/ledger-kinds';
import type { Period } from '../../api/usage.ts';
import { texts } from '../../texts/usage.ts';
import { daysOf, isDay } from './days.ts';

/** Lengths of periods that end today, in days. */
export const LENGTHS = [7, 30, 90] as const;
const DEFAULT_LENGTH = 30;

export interface UsageView {
  /** A number of days up to today, or custom days. */
  readonly period: (typeof LENGTHS)[number] | Required<Period>;
  readonly by: 'model' | 'key';
  readonly kind: LedgerKind | undefined;
  readonly keyId: string | undefined;
  readonly reference: string | undefined;
  /** Whether the ledger is shown regardless of the period. */
  readonly isAlways: boolean;
}

/** Unknown values are ignored: a URL may be mistyped. */
function viewOf(search: URLSearchParams): UsageView {
  const kind = search.get('kind') ?? '';
  const keyId = search.get('keyId') ?? '';
  return {
    period: periodOf(search),
    by: search.get('by') === 'key' ? 'key' : 'model',
    kind: isKind(kind) ? kind : undefined,
    keyId: /^[0-9A-Za-z]{1,64}$/.test(keyId) ? keyId : undefined,
    reference: search.get('reference')?.slice(0, 300) || undefined,
    isAlways: search.get('when') === 'always',
  };
}

function periodOf(search: URLSearchParams): UsageView['period'] {
  const from = search.get('from') ?? '';
  const to = search.get('to') ?? '';
  const days = isDay(from) && isDay(to) ? daysOf(from, to) : 0;
  if (days >= 1 && days <= MAX_USAGE_DAYS) return { from, to: to };
  return LENGTHS.find((length) => String(length) === search.get('days')) ?? DEFAULT_LENGTH;
}

function isKind(text: string): text is LedgerKind {
  return Object.hasOwn(texts.ledger.kinds, text);
}

function addressOf({ period, by, kind, keyId, reference, isAlways }: UsageView): string {
  const query = new URLSearchParams();
  if (typeof period !== 'number') {
    query.set('from', period.from);
    query.set('to', period.to ?? '');
  } else if (period !== DEFAULT_LENGTH) query.set('days', String(period));
  if (by !== 'model') query.set('by', by);
  if (kind !== undefined) query.set('kind', kind);
  if (keyId !== undefined) query.set('keyId', keyId);
  if (reference !== undefined) query.set('reference', reference);
  if (isAlways) query.set('when', 'always');
  return query.size === 0 ? '/usage' : `/usage?${query.toString()}`;
}

export function useUsageView(): readonly [UsageView, (change: Partial<UsageView>) => void] {
  const search = useSearch();
  const [, navigate] = useLocation();
  const view = useMemo(() => viewOf(new URLSearchParams(search)), [search]);
  const change = useCallback(
    (changed: Partial<UsageView>) => navigate(addressOf({ ...view, ...changed }), { replace: true }),
    [navigate, view],
  );
  return [view, change];
}
