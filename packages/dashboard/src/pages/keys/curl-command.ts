/** A command that shows that a key works: it requests something that the key may read, and costs nothing. */
import type { Scope } from '@darkroom/api/facts/scopes';

/** The first one that the key allows is used. */
const REQUESTS: readonly (readonly [scope: Scope, path: string])[] = [
  ['models:read', '/models'],
  ['tasks:read', '/tasks'],
  ['billing:read', '/account'],
  ['storage:read', '/storages'],
  ['keys:manage', '/account/keys'],
  ['webhooks:manage', '/account/webhook-key'],
];

/** @param baseUrl with `/v1`. */
export function curlCommand(baseUrl: string, key: { readonly key: string; readonly scopes: readonly Scope[] }): string {
  const request = REQUESTS.find(([scope]) => key.scopes.includes(scope));
  // If the key allows none of these, the rejection still shows that the key is known: it names the missing scope.
  const path = request?.[1] ?? '/tasks';
  return `curl ${baseUrl.replace(/\/+$/, '')}${path} \\\n  -H "Authorization: Bearer ${key.key}"`;
}
