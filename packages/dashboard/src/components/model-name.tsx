/** A model's name, which wraps behind a slash before it wraps anywhere else. */
import { Fragment } from 'react';

export function ModelName({ name }: { readonly name: string }) {
  return name.split('/').map((part, index) => (
    <Fragment key={index}>
      {index === 0 ? null : (
        <>
          /<wbr />
        </>
      )}
      {part}
    </Fragment>
  ));
}
