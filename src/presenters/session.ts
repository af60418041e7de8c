/**
 * A session of the dashboard as its pages see it: whose it is, what it may do, and the URLs of the service.
 */
import type { KeyListing } from '../accounts/keys.ts';
import type { Service } from '@darkroom/api/tasks/session';
import type { Static } from 'typebox';
import type { SessionSchema } from '@darkroom/api/tasks/session';
import { secondsOf } from './unix-seconds.ts';

/** @param expiresAt of the session; undefined: the request used the key itself. */
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
