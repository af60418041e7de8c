/** Has the browser save content as a file. */
export function saveFile(content: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // The browser has started the download by the next event-loop turn.
  setTimeout(() => URL.revokeObjectURL(link.href), 0);
}
