/** The names of credentials and of providers, which are parts of environment variables. */

/** Environment variables have neither lower case nor hyphens: names that differ only in these are the same. */
export function canonicalName(name: string): string {
  return name.toLowerCase().replaceAll('-', '_');
}
