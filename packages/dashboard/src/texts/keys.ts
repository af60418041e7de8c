/** The texts of the keys page, and of an account's keys as operators see them. */
import type { Scope } from '@darkroom/api/facts/scopes';

/** What each scope allows, in plain words. */
const scopes: Readonly<Record<Scope, string>> = {
  'tasks:write': 'Create, cancel and erase tasks',
  'tasks:read': 'Read tasks, their outputs and their callbacks',
  'text:write': 'Call text models',
  'models:read': 'Read models and prices',
  'storage:write': 'Upload files; make outputs persistent; delete outputs',
  'storage:read': 'Read stored outputs and files',
  'billing:read': 'Read the balance, the ledger and usage',
  'webhooks:manage': 'Manage the signing secret; send test deliveries',
  'keys:manage': 'Create, rotate and revoke keys',
  dashboard: 'Sign in to the dashboard',
};

/** The scopes by topic, in the order in which they are offered. */
const scopeGroups: readonly { readonly name: string; readonly scopes: readonly Scope[] }[] = [
  { name: 'Models and tasks', scopes: ['tasks:write', 'tasks:read', 'text:write', 'models:read'] },
  { name: 'Storage', scopes: ['storage:write', 'storage:read'] },
  { name: 'Account', scopes: ['billing:read', 'webhooks:manage', 'keys:manage', 'dashboard'] },
];

const counted = (amount: number, one: string, several: string): string =>
  amount === 1 ? `1 ${one}` : `${amount.toLocaleString('en')} ${several}`;

export const texts = {
  title: 'API keys',
  about:
    'Create, rotate and revoke the API keys your applications use. Give each application its own key, with only the scopes it needs.',
  manageKeys: 'manage keys',
  create: 'Create key',
  keyList: 'Active keys',
  none: 'No active keys',
  noneHint: 'Create a key to call the API.',
  scopes,
  scopeGroups,
  isOwn: 'this session',
  isOwnHint: 'You are signed in with this key.',
  states: {
    active: 'active',
    ending: 'being replaced',
    expired: 'expired',
    revoked: 'revoked',
  },
  id: 'ID',
  copyId: (name: string) => `Copy the ID of “${name}”`,
  scopesTitle: 'Scopes',
  allScopes: 'All scopes',
  allModels: 'All models',
  models: 'Models',
  created: 'Created',
  lastUsed: 'Last used',
  never: 'never',
  expires: 'Expires',
  expired: 'Expired',
  neverExpires: 'never',
  replacedBy: (id: string) => `Replaced by ${id}. Both work until this one expires.`,
  spending: 'Spending',
  noCaps: 'No spend caps',
  cappedByOthers: (keys: number) => `Counts toward the spend caps of ${counted(keys, 'other key', 'other keys')}`,
  capToday: 'Today (UTC)',
  capTotal: 'Total',
  spentOf: (spent: string, cap: string) => `${spent} of ${cap}`,
  capReached: 'reached',
  actions: (name: string) => `Actions for “${name}”`,
  rotate: 'Rotate',
  revoke: 'Revoke',
  showInactive: (keys: number) => `Show ${counted(keys, 'inactive key', 'inactive keys')}`,
  hideInactive: 'Hide inactive keys',
  inactiveList: 'Inactive keys',
  creation: {
    title: 'Create a key',
    name: 'Name',
    nameHint: 'For example, the application that will use it.',
    namePlaceholder: 'web shop',
    scopes: 'Scopes',
    scopesHint: 'You can grant only the scopes that your own key has.',
    operatorScopesHint: 'Select only the scopes that the application needs.',
    missingScope: 'Your key does not have this scope.',
    needsScope: 'Select at least one scope.',
    models: 'Models',
    modelsHint: 'The models this key can use. Leave empty to allow all models.',
    restrictedModelsHint: 'Your key can use only these models. Select at least one.',
    unlistedModelsHint:
      'Your key cannot list models. Type their names, each followed by Enter. Leave empty to allow all models.',
    modelsPlaceholder: 'All models',
    needsModel: 'Your key cannot use all models. Select at least one.',
    caps: 'Spend caps',
    capsHint: 'The maximum spend of this key and all keys created from it.',
    ownCapsHint:
      'The maximum spend of this key and all keys created from it. Its spending also counts toward the caps of your own key.',
    capDay: 'Per day (UTC)',
    capTotal: 'Total',
    capPlaceholder: 'No cap',
    badAmount: 'Enter an amount in dollars with up to six decimals, such as 5 or 0.25.',
    expiry: 'Expiration date',
    expiryHint: 'The key works until the end of this day. Leave empty for no expiration.',
    restrictedExpiryHint: (when: string) =>
      `No later than your own key, which expires ${when}. Leave empty to expire with it.`,
    badDay: 'Enter a date that is not in the past.',
    dayTooLate: 'Your own key expires before this date.',
    needsName: 'Enter a name.',
    submit: 'Create key',
    selectAll: 'Select all',
    selectNone: 'Select none',
  },
  reveal: {
    title: 'Save your key',
    warning: 'This is the only time the key is shown. If you lose it, rotate it to get a new one.',
    key: 'Key',
    copyKey: 'Copy the key',
    tryIt: 'Try it',
    tryLabel: 'A command that uses the key',
    isStored: 'I have stored this key in a safe place',
    done: 'Done',
  },
  rotation: {
    title: (name: string) => `Rotate “${name}”`,
    about:
      'This creates a new key with the same name and scopes. The old key can keep working for a while, so that nothing breaks while you replace it.',
    overlap: 'Old key expires',
    overlaps: [
      ['0', 'immediately'],
      ['3600', 'in 1 hour'],
      ['86400', 'in 1 day'],
      ['604800', 'in 1 week'],
    ] as readonly (readonly [seconds: string, label: string])[],
    own: 'You are signed in with this key. Your session ends when the old key expires; sign in again with the new one.',
    submit: 'Rotate key',
  },
  revocation: {
    title: (name: string) => `Revoke “${name}”?`,
    about:
      'The key stops working immediately and permanently, and requests that use it are rejected. Tasks it created continue, and keys created from it stay active.',
    own: 'You are signed in with this key. Revoking it signs you out.',
    submit: 'Revoke key',
    submitOwn: 'Revoke key and sign out',
    done: (name: string) => `“${name}” has been revoked.`,
  },
} as const;
