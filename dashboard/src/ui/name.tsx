import { Fragment } from 'preact';

/** A name of a function, which may break behind its dots, dashes, colons and slashes. */
export function Name({ of }: { of: string }) {
  return (
    <>
      {of.split(/(?<=[._:/-])(?=.)/u).map((part, index) => (
        <Fragment key={index}>
          {index > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </>
  );
}
