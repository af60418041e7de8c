/**
 * The URL with which a browser saves an output as a file. The attribute `download` alone does not if the bytes
 * come from another origin: a store that serves them itself, or this page opened under another name of the machine.
 *
 * @param url as returned by the API.
 */
export function downloadUrl(url: string): string {
  const address = new URL(url);
  address.searchParams.set('download', '');
  return address.href;
}
