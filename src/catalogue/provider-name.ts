/** The name of a provider, which is that of its credential and of its directory too. */
export const PROVIDER_NAME = '^[a-z0-9][a-z0-9_]{0,63}$';
