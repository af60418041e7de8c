/** Where the bytes of a file come from: a store, a disk or memory. */
export interface ByteSource {
  readonly sizeBytes: number;
  /** Bytes from `start` to before `end`, fewer if the file ends. */
  readonly read: (start: number, end: number) => Promise<Buffer>;
}
