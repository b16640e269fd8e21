"""The page's style: light and dark, narrow and printed; nothing is loaded."""

from __future__ import annotations

CSS = """
:root{color-scheme:light dark;--ink:#1b1f24;--dim:#57606a;--paper:#fff;--soft:#f3f5f7;--line:#d0d7de;--link:#0550ae;
--bad:#b42318;--good:#116329;--k0:#0b62c4;--k1:#a8450a;--k2:#127a3f;--k3:#8a3ab9;--k4:#a3154f;--k5:#4d5a66;--on:#fff}
@media (prefers-color-scheme:dark){:root{--ink:#e6edf3;--dim:#9aa5b1;--paper:#0f1419;--soft:#1a2129;--line:#38434f;
--link:#79b8ff;--bad:#ff8f85;--good:#7ee2a0;--k0:#79b8ff;--k1:#ffb077;--k2:#7ee2a0;--k3:#d6a8ff;--k4:#ff9dc0;
--k5:#b7c2cd;--on:#0f1419}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1rem;max-width:76rem;background:var(--paper);color:var(--ink);
font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.6rem;line-height:1.25;margin:.4rem 0}h2{font-size:1.25rem;margin:2.2rem 0 .6rem;
border-bottom:1px solid var(--line);padding-bottom:.2rem}h3{font-size:1.05rem;margin:1.4rem 0 .4rem}
h4,h5{font-size:.95rem;margin:1rem 0 .3rem}p{margin:.35rem 0}
a{color:var(--link)}:focus-visible{outline:3px solid var(--link);outline-offset:2px}
nav ul{padding:0;list-style:none;display:flex;flex-wrap:wrap;gap:.2rem 1rem;margin:.6rem 0}
.dim,.source,.note{color:var(--dim);font-size:.875rem}.bad{color:var(--bad)}.prose{white-space:pre-line}
.scroll{overflow-x:auto;margin:.6rem 0}.scroll table{margin:0}
table{border-collapse:collapse;font-size:.875rem;min-width:min(100%,30rem)}
caption{text-align:left;font-weight:600;padding:.3rem 0}
th,td{text-align:left;vertical-align:top;padding:.3rem .6rem;border-bottom:1px solid var(--line);
overflow-wrap:normal;min-width:3rem}
thead th{background:var(--soft);white-space:normal;vertical-align:bottom}td.num,th.num{text-align:right}
td.num{font-variant-numeric:tabular-nums;white-space:nowrap}td.date{white-space:nowrap}.name{min-width:11rem}td.long,th.long{min-width:13rem}
.legend{padding:0;list-style:none;display:flex;flex-wrap:wrap;gap:.3rem 1.2rem;color:var(--dim);font-size:.875rem}
tbody th{font-weight:500}.hit{background:var(--soft);font-weight:600}
.key{display:inline-block;min-width:1.5em;text-align:center;border-radius:1em;color:var(--on);font-weight:700}
b.k0{background:var(--k0)}b.k1{background:var(--k1)}b.k2{background:var(--k2)}b.k3{background:var(--k3)}
b.k4{background:var(--k4)}b.k5{background:var(--k5)}
.grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,27rem),1fr));gap:0 2rem}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,20rem),1fr));gap:1rem 2rem}
.charts>*,.grid>*{min-width:0}
figure{margin:0}figcaption{font-size:.875rem;color:var(--dim)}figcaption b{color:var(--ink)}
.chart svg{width:100%;max-width:30rem;height:auto;display:block}svg text{fill:var(--ink);font-size:13px}
svg .grid{stroke:var(--line);stroke-width:1}svg .axis{stroke:var(--dim);stroke-width:1}
svg .series{stroke-width:2}svg .dashed{stroke-dasharray:4 4}svg text.key{fill:var(--on);font-weight:700;font-size:12px}
svg .series.k0{stroke:var(--k0)}svg .series.k1{stroke:var(--k1)}svg .series.k2{stroke:var(--k2)}
svg .series.k3{stroke:var(--k3)}svg .series.k4{stroke:var(--k4)}svg .series.k5{stroke:var(--k5)}
svg .mark.k0,svg .bar.k0{fill:var(--k0)}svg .mark.k1,svg .bar.k1{fill:var(--k1)}svg .mark.k2,svg .bar.k2{fill:var(--k2)}
svg .mark.k3,svg .bar.k3{fill:var(--k3)}svg .mark.k4,svg .bar.k4{fill:var(--k4)}svg .mark.k5,svg .bar.k5{fill:var(--k5)}
svg .mark{stroke:var(--paper);stroke-width:1.5}svg .bar{opacity:.55}
details{border:1px solid var(--line);border-radius:.4rem;padding:.3rem .7rem;margin:.4rem 0}
summary{cursor:pointer;padding:.2rem 0}details[open]>summary{border-bottom:1px solid var(--line);margin-bottom:.5rem}
:target{outline:2px dashed var(--link);outline-offset:4px;scroll-margin-top:1rem}
.turns,.sides{margin:.8rem 0;display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,18rem),1fr));gap:.6rem}
.turn,.side{background:var(--soft);border-radius:.4rem;padding:.5rem .8rem;min-width:0;font-size:.925rem}
.turns>div>.turn+.turn{margin-top:.6rem}
.side{border-top:4px solid var(--k5)}.side.for{border-color:var(--k0)}.side.against{border-color:var(--k1)}
.side h3{margin-top:.2rem}
blockquote{margin:.5rem 0;padding-left:.7rem;border-left:3px solid var(--line)}
u{text-decoration-color:var(--good);text-decoration-thickness:2px;text-underline-offset:3px}
mark{background:var(--soft);color:inherit;border-bottom:3px dotted var(--k5)}
mark.supported{border-bottom:3px solid var(--good)}mark.refuted{border-bottom:3px double var(--bad)}
s{color:var(--dim);text-decoration-color:var(--bad)}.end{font-weight:600;font-size:.925rem}
.verdict{border:2px solid var(--ink);border-radius:.4rem;padding:.6rem 1rem;margin:1rem 0}
.verdict .label{font-size:1.3rem;font-weight:700}
pre{background:var(--soft);padding:.7rem;border-radius:.4rem;white-space:pre-wrap;overflow-wrap:anywhere;font-size:.85rem}
ol.read{padding-left:1.6rem;font-size:.9rem}ul.quotes{padding-left:1.2rem}.end,.source{overflow-wrap:anywhere}
.scroll{background:linear-gradient(90deg,var(--paper) 30%,transparent) 0/2rem 100%,
linear-gradient(270deg,var(--paper) 30%,transparent) 100%/2rem 100%,
linear-gradient(90deg,var(--line),transparent) 0/.6rem 100%,
linear-gradient(270deg,var(--line),transparent) 100%/.6rem 100%;background-repeat:no-repeat;
background-attachment:local,local,scroll,scroll}
@media (max-width:40rem){body{padding:.7rem}h1{font-size:1.3rem}details{padding:.3rem .5rem}
th,td{padding:.25rem .35rem;min-width:0}td.num{white-space:normal}td.name,tbody .name{min-width:5.5rem;max-width:7rem;
overflow-wrap:anywhere}thead .name{min-width:5.5rem}table{font-size:.8rem}td.long,th.long{min-width:9rem}
caption{max-width:calc(100vw - 3rem)}}
@media print{body{max-width:none;padding:0;font-size:10pt}nav{display:none}.scroll{overflow:visible}
table{font-size:8pt}td.long,th.long{min-width:0}figure,tr,.turn{break-inside:avoid}a.url{color:inherit}
.key,b[class*=key]{print-color-adjust:exact;-webkit-print-color-adjust:exact}details{border:0;padding:0}
.case::details-content{content-visibility:visible;block-size:auto}}
"""
