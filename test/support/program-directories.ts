/** The directories of everything that runs in the service's processes: its modules, and the packages that it uses. */
export const PROGRAM_DIRECTORIES = [
  'packages/api/src',
  'packages/engines/src',
  'packages/media/src',
  'packages/offline-text/src',
  'packages/seeded-random/src',
  'src',
  'activities',
  'workflows',
] as const;
