/** One archived file: small facts, passed between activities. The object itself stays in the store. */
export interface ArchivedOutput {
  /** `image video audio text first_frame last_frame thumbnail`, an open set (contract §3). */
  readonly type: string;
  readonly objectKey: string;
  readonly mimeType: string;
  readonly sizeBytes: number;
  /** Lower-case hex. */
  readonly sha256: string;
  readonly width?: number;
  readonly height?: number;
  readonly durationSeconds?: number;
}
