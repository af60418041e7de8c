/**
 * The address that has a browser keep an output as a file. The attribute `download` alone does not where the bytes come
 * from another origin: a store that serves them itself, or this page opened under another name of the machine.
 *
 * @param url as the API gives it.
 */
export function downloadAddress(url: string): string {
  const address = new URL(url);
  address.searchParams.set('download', '');
  return address.href;
}
