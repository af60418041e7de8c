/** The texts of the sign-in. */
export const texts = {
  title: 'Sign in to Darkroom',
  ended: 'Your session has ended. Sign in to go on where you were.',
  key: 'API key',
  keyHint: 'A key with the scope “dashboard”. It is not kept in this browser: a session of eight hours is.',
  signIn: 'Sign in',
  signingIn: 'Signing in',
  linkHint: 'No key at hand? On the machine that runs Darkroom, this prints a link:',
  linkCommand: 'npm run admin -- sign-in-link',
  keyNeedsScope: 'This key is not good, or it lacks the scope “dashboard”.',
  malformedKey: 'An API key begins with dk_live_ and has 69 characters.',
} as const;
