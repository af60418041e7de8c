/** The output of a task, small: its image, or an icon of its type. */
import { IconAlertTriangle, IconHourglass, IconMusic, IconMovie, IconPhoto, IconPhotoOff } from '@tabler/icons-react';
import { useState } from 'react';
import { isOver } from '../../api/tasks.ts';
import type { TaskRow } from '../../api/tasks.ts';
import styles from './task-list.module.css';

/** @param isMoving during fast scrolling nothing is fetched for rows that are about to disappear. */
export function Preview({ row, isMoving }: { readonly row: TaskRow; readonly isMoving: boolean }) {
  const [failedUrl, setFailedUrl] = useState<string>();
  const { preview } = row;
  const isImage = preview?.mimeType.startsWith('image/') === true && preview.url !== failedUrl;
  return (
    <div className={styles['preview']}>
      {isImage && !isMoving ? (
        <img src={preview.url} alt="" loading="lazy" decoding="async" onError={() => setFailedUrl(preview.url)} />
      ) : (
        <Sign row={row} isImage={isImage} />
      )}
    </div>
  );
}

function Sign({ row, isImage }: { readonly row: TaskRow; readonly isImage: boolean }) {
  const size = 20;
  if (row.status === 'fail') return <IconAlertTriangle size={size} aria-hidden />;
  if (!isOver(row.status)) return <IconHourglass size={size} aria-hidden />;
  if (isImage) return <IconPhoto size={size} aria-hidden />;
  const mimeType = row.preview?.mimeType ?? '';
  if (mimeType.startsWith('video/')) return <IconMovie size={size} aria-hidden />;
  if (mimeType.startsWith('audio/')) return <IconMusic size={size} aria-hidden />;
  return <IconPhotoOff size={size} aria-hidden />;
}
