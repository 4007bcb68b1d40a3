<?php
// Collects 7,000 pages of two rows each.
$how = $argv[1];
$all = [];
for ($i = 0; $i < 7000; $i++) {
    $page = ["a$i", "b$i"];
    if ($how === "merge") {
        $all = array_merge($all, $page);
    } else {
        array_push($all, ...$page);
    }
}
echo count($all), " ", md5(implode($all)), "\n";
