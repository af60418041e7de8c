/**
 * API keys as they are requested and shown (contract §7), and the sessions that begin with them. A key's text is shown
 * once, in the response that creates it.
 */
import type { CreateKeyBody, WireKey } from '@darkroom/api/tasks/key';
import type { Service, SessionSchema } from '@darkroom/api/tasks/session';
import type { Static } from 'typebox';
import type { KeyListing, KeyRights, SpendCaps } from '../accounts/keys.ts';
import type { CapSpending } from '../billing/spend-caps.ts';
import { formatUsd, parseUsd } from '../domain/money.ts';
import { secondsOf } from './unix-seconds.ts';

/** The rights that a body requests, once it has the form of `CreateKeySchema`. */
export function rightsOf({ name, scopes, models, expiresAt = 0, spendCaps }: CreateKeyBody): KeyRights {
  return {
    name,
    scopes,
    ...(models === undefined ? {} : { models }),
    ...(expiresAt === 0 ? {} : { expiresAt: new Date(expiresAt * 1000) }),
    ...(spendCaps === undefined
      ? {}
      : { spendCaps: { dayMicroUsd: amountOf(spendCaps.day), totalMicroUsd: amountOf(spendCaps.total) } }),
  };
}

function amountOf(text: string | undefined): bigint | undefined {
  return text === undefined ? undefined : parseUsd(text);
}

/** @param spending by the ids of caps (billing/spend-caps.ts). */
export function presentKey(key: KeyListing, spending: ReadonlyMap<string, CapSpending>): WireKey {
  return {
    id: key.id,
    name: key.name,
    scopes: [...key.scopes],
    models: key.models ?? null,
    expiresAt: secondsOf(key.expiresAt),
    spendCaps: presentCaps(key.spendCaps),
    spent: key.spendCapId === undefined ? null : presentSpending(spending.get(key.spendCapId)),
    cappedBy: [...key.spendCapIds],
    created: secondsOf(key.createdAt),
    lastUsed: secondsOf(key.lastUsedAt),
    revoked: secondsOf(key.revokedAt),
    replacedBy: key.replacedBy ?? null,
  };
}

function presentCaps(caps: SpendCaps | undefined): WireKey['spendCaps'] {
  if (caps === undefined) return null;
  const { dayMicroUsd, totalMicroUsd } = caps;
  return {
    day: dayMicroUsd === undefined ? null : formatUsd(dayMicroUsd),
    total: totalMicroUsd === undefined ? null : formatUsd(totalMicroUsd),
  };
}

function presentSpending({ dayMicroUsd, totalMicroUsd }: CapSpending = { dayMicroUsd: 0n, totalMicroUsd: 0n }) {
  return { day: formatUsd(dayMicroUsd), total: formatUsd(totalMicroUsd) };
}

/**
 * A session of the dashboard as its pages see it: whose it is, what it may do, and the URLs of the service.
 *
 * @param expiresAt of the session; undefined: the request used the key itself.
 */
export function presentSession(
  account: { readonly id: string; readonly name: string },
  key: Pick<KeyListing, 'id' | 'name' | 'scopes' | 'models' | 'expiresAt'>,
  expiresAt: Date | undefined,
  service: Service,
): Static<typeof SessionSchema> {
  const ends = [expiresAt, key.expiresAt].filter((end) => end !== undefined).map(secondsOf);
  return {
    accountId: account.id,
    accountName: account.name,
    keyId: key.id,
    keyName: key.name,
    scopes: [...key.scopes],
    ...(key.models === undefined ? {} : { models: [...key.models] }),
    expireAt: ends.length === 0 ? 0 : Math.min(...ends),
    ...service,
  };
}
