/** What a key may do. */

/** What may be done with a key (contract §7). */
export const SCOPES = [
  'tasks:read',
  'tasks:write',
  'storage:read',
  'storage:write',
  'text:write',
  'models:read',
  'billing:read',
  'webhooks:manage',
  'keys:manage',
  'dashboard',
] as const;
export type Scope = (typeof SCOPES)[number];
