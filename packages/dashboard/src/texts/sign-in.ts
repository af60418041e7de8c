/** The texts of the account's sign-in page. */
export const texts = {
  title: 'Sign in to Darkroom',
  ended: 'Your session has expired. Sign in to continue where you left off.',
  key: 'API key',
  keyHint:
    'A key with the scope “dashboard”. The key itself is not stored in this browser; the session lasts eight hours.',
  signIn: 'Sign in',
  linkHint: 'No API key? To get a sign-in link, run this on the machine that runs Darkroom:',
  linkCommand: 'npm run admin -- sign-in-link',
  invalidKey: 'This key is invalid, or it is missing the scope “dashboard”.',
} as const;
