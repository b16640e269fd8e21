"""Documents of other programs, made by code."""

from __future__ import annotations

import io
import zipfile

_WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_COMPATIBILITY = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
_CORE = (
    '<c:coreProperties xmlns:c="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{}</dc:title></c:coreProperties>'
)


def pdf(text: str, title: str = "", extra: str = "", *, pages: int = 1) -> bytes:
    """A PDF file with one page, which may be in its list of pages several times."""
    stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET" if text else ""
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{'3 0 R ' * pages}] /Count {pages} >>",
        "<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Title ({title}) >>",
    ]
    out, offsets = "%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    trailer = f"trailer\n<< /Size 7 /Root 1 0 R /Info 6 0 R {extra} >>\nstartxref\n{len(out)}\n%%EOF"
    return (out + f"xref\n0 7\n0000000000 65535 f \n{table}{trailer}").encode()


def docx(body: str, *, title: str = "", before: str = "", footnotes: str = "", endnotes: str = "") -> bytes:
    """A Word document; ``body`` and notes are the XML of its paragraphs, ``before`` comes before the root element."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        root = f"<w:document {_WORD} {_COMPATIBILITY}><w:body>{body}</w:body></w:document>"
        archive.writestr("word/document.xml", before + root)
        for name, notes in (("footnotes", footnotes), ("endnotes", endnotes)):
            if notes:
                archive.writestr(f"word/{name}.xml", f"<w:{name} {_WORD}>{notes}</w:{name}>")
        if title:
            archive.writestr("docProps/core.xml", _CORE.format(title))
    return file.getvalue()


def paragraphs(*texts: str) -> bytes:
    """A Word document of plain paragraphs."""
    return docx("".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in texts))
