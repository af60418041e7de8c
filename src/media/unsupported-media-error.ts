/** The bytes are no image, video or audio of a type that is served: a page, JSON, text, nothing, or half a header. */
export class UnsupportedMediaError extends Error {
  override readonly name = 'UnsupportedMediaError';
  /** What the bytes are instead, where that is known. */
  readonly mimeType: string | undefined;
  /** Why the file cannot be read within our bounds, where that is what is wrong with it. */
  readonly problem: string | undefined;

  constructor(mimeType?: string, problem?: string) {
    super(problem ?? `not a supported image, video or audio file: ${mimeType ?? 'unknown type'}`);
    this.mimeType = mimeType;
    this.problem = problem;
  }
}
