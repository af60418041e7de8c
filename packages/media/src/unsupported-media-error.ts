/** The bytes are no image, video or audio of a served type: a page, JSON, text, nothing, or half a header. */
export class UnsupportedMediaError extends Error {
  override readonly name = 'UnsupportedMediaError';
  /** What the bytes are instead, if known. */
  readonly mimeType: string | undefined;
  /** Why the file cannot be read within our bounds, if that is what is wrong with it. */
  readonly problem: string | undefined;

  constructor(mimeType?: string, problem?: string) {
    super(problem ?? `not a supported image, video or audio file: ${mimeType ?? 'unknown type'}`);
    this.mimeType = mimeType;
    this.problem = problem;
  }
}
