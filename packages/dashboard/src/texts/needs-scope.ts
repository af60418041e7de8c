/** Texts for actions that the session's key does not allow. */
export const texts = {
  title: (action: string) => `Your key cannot ${action}`,
  lacks: 'The key you signed in with is missing the scope',
  remedy: 'Sign in with a key that has this scope, or create one.',
} as const;
