/** Texts for actions that the session's key does not allow. */
export const texts = {
  title: (what: string) => `Your key may not ${what}`,
  lacks: 'The key that you signed in with lacks the scope',
  remedy: 'Sign in with a key that has it, or have one made.',
} as const;
